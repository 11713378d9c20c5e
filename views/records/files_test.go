package records

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/endpoint/endpointtest"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

type fileFake struct {
	files   []api.CustomerFile
	calls   int
	deleted []api.DeleteFile
	err     error
	aPage   int // files of a page; 0: all
}

func (f *fileFake) list(_ context.Context, q endpoint.FileQuery) (api.Page[api.CustomerFile], error) {
	f.calls++
	if f.aPage > 0 {
		return api.Page[api.CustomerFile]{Items: f.files[q.Page*f.aPage : min((q.Page+1)*f.aPage, len(f.files))], Total: "3"}, nil
	}
	return api.Page[api.CustomerFile]{Items: f.files, Total: "3"}, nil
}
func (f *fileFake) remove(_ context.Context, r api.DeleteFile) (api.Result, error) {
	f.calls++
	f.deleted = append(f.deleted, r)
	if f.err == nil {
		f.files = f.files[1:]
	}
	return api.Result{Success: f.err == nil}, f.err
}
func (f *fileFake) owner(context.Context, string) Owner {
	return Owner{Name: "Harbour & Finch", Uses: map[string]string{"f-1": "62387c1f-0001-4a5b-8c7d-aaaa0050c0b8"}}
}
func (f *fileFake) caller() endpoint.Caller {
	var c endpointtest.Fake
	endpointtest.On(&c, endpoint.ListFiles, f.list)
	endpointtest.On(&c, endpoint.DeleteFile, f.remove)
	return &c
}
func (f *fileFake) save(context.Context, string, string, string, bool) (string, error) {
	f.calls++
	panic("saved")
}

func fileSample(t *testing.T) []api.CustomerFile {
	t.Helper()
	var out []api.CustomerFile
	for _, text := range []string{
		`{"id":"f-1","name":"passport.png","size":7120,"mime":"image/png","type":"PASSPORT","status":"NEW","isLock":false,"createAt":"2026-03-02T10:20:00Z"}`,
		`{"id":"f-2","name":"contract\u001b[2J\u202e.pdf","size":101374,"mime":"application/pdf","type":"CONTRACT","isLock":true,"createdAt":"2026-03-02T10:20:00Z"}`,
		`{"id":"f-3","fileName":"note.txt","size":12}`,
	} {
		var f api.CustomerFile
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

func openFile(t *testing.T, f *fileFake, opts ...shelltest.Option) (*uitest.Run, *uitest.Clock) {
	t.Helper()
	clock := uitest.NewClock()
	return shelltest.Open(t, clock, func(env *ui.Env, p ui.Place) ui.Screen {
		return NewFiles(env, f.caller(), f.save, f.owner, p.ID, p.Arg)
	}, ui.Place{Kind: KindFiles, ID: "D1"}, opts...), clock
}

func TestFileScreens(t *testing.T) {
	for name, keys := range map[string][]string{"list": nil, "question": {"x"}, "locked": {"down", "x"}, "page": {"enter"}} {
		for size, wh := range shelltest.Drawn(name, "page") {
			t.Run(name+"-"+size, func(t *testing.T) {
				r, _ := openFile(t, &fileFake{files: fileSample(t)})
				r.Send(uitest.Size(wh[0], wh[1]))
				for _, k := range keys {
					r.Send(uitest.Key(k))
				}
				golden.RequireEqual(t, r.View())
			})
		}
	}
}

// TestFileDelete asks, sends what was seen, and reads the files again; in production the end
// of the id is typed.
func TestFileDelete(t *testing.T) {
	f := &fileFake{files: fileSample(t)}
	r, clock := openFile(t, f)
	r.Send(uitest.Key("x"), clock.Wait(shelltest.Armed), uitest.Key("enter"))
	if len(f.deleted) != 0 {
		t.Fatal("deleted by enter")
	}
	r.Send(uitest.Key("x"), clock.Wait(shelltest.Armed), uitest.Key("y"))
	if len(f.deleted) != 1 || f.deleted[0].ID != "f-1" || f.deleted[0].CUID != "D1" || f.deleted[0].Seen == nil || strings.Contains(r.View(), "7,120") {
		t.Errorf("%+v\n%s", f.deleted, r.View())
	}
	f = &fileFake{files: fileSample(t)}
	r, clock = openFile(t, f, shelltest.Production)
	r.Send(uitest.Key("x"), clock.Wait(shelltest.Armed), uitest.Key("y"), clock.Wait(shelltest.Armed), uitest.Key("enter"))
	if len(f.deleted) != 0 {
		t.Error("y is enough in production")
	}
}

func TestFileLockedIsNeverSent(t *testing.T) {
	f := &fileFake{files: fileSample(t)}
	r, clock := openFile(t, f)
	r.Send(uitest.Key("down"), uitest.Key("x"), clock.Wait(shelltest.Armed), uitest.Key("y"), uitest.Key("enter"))
	if len(f.deleted) != 0 {
		t.Error(f.deleted)
	}
}

// TestFileReadsOn: the cursor on the last file reads the next page, one call, and the list says
// when it has all.
func TestFileReadsOn(t *testing.T) {
	f := &fileFake{files: fileSample(t), aPage: 2}
	r, _ := openFile(t, f)
	if !strings.Contains(r.View(), "2 files of 3, end reads more") || f.calls != 1 {
		t.Errorf("%d calls\n%s", f.calls, r.View())
	}
	r.Send(uitest.Key("down"))
	if !strings.Contains(r.View(), "3 files, all read") || f.calls != 2 {
		t.Errorf("%d calls\n%s", f.calls, r.View())
	}
	r.Send(uitest.Keys("down", "down"))
	if f.calls != 2 {
		t.Errorf("%d calls though all was read", f.calls)
	}
}
