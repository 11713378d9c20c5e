package documents

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/internal/domain/replace"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// mute is a screen whose first load is never answered.
type mute struct{ *Screen }

func (mute) Init() tea.Cmd { return nil }

func many(n int) api.Operation {
	var docs []any
	for i := range n {
		docs = append(docs, map[string]any{"guid": fmt.Sprintf("00000000-0000-4000-8000-%012d", i), "fileName": fmt.Sprintf("bill of lading, page %d of many, signed and sealed.pdf", i+1),
			"size": 1000 * (i + 1), "mime": "application/pdf", "docType": "BILL_OF_LADING", "isLock": i%3 == 0, "createAt": "2026-03-01T10:00:00Z", "info": ""})
	}
	return apitest.Operation(map[string]any{"documents": docs})
}

// TestStates keeps the screens around the list itself.
func TestStates(t *testing.T) {
	gone := &api.Error{Kind: api.Unavailable, Public: "The service did not answer within 15 s.", Hint: "r tries again."}
	job := replace.Job{ID: "j1", OPID: opid, OldGUID: "x", OldName: "invoice.pdf", Step: replace.Removed, Problem: "the file could not be uploaded"}
	silent := func(s *Screen) ui.Screen { return mute{s} }
	for name, c := range map[string]struct {
		f    fake
		id   string
		opts []shelltest.Option
		wrap func(*Screen) ui.Screen
		keys []string
		fail bool // from the first read on
	}{
		"loading":    {id: opid, wrap: silent},
		"nothing":    {id: ""},
		"stale":      {id: opid, f: fake{op: apitest.Operation(nil)}, keys: []string{"r"}, fail: true},
		"many":       {id: opid, f: fake{op: many(60)}, keys: []string{"end"}},
		"readonly":   {id: opid, f: fake{op: apitest.Operation(nil)}, opts: []shelltest.Option{shelltest.ReadOnly}, keys: []string{"x"}},
		"production": {id: opid, f: fake{op: apitest.Operation(nil)}, opts: []shelltest.Option{shelltest.Production}, keys: []string{"x"}},
		"job":        {id: opid, f: fake{op: apitest.Operation(nil), jobs: []replace.Job{job}}},
		"resume":     {id: opid, f: fake{op: apitest.Operation(nil), jobs: []replace.Job{job}}, keys: []string{"R"}},
		"attach":     {id: opid, f: fake{op: apitest.Operation(nil)}, keys: []string{"a"}},
		"replace":    {id: opid, f: fake{op: apitest.Operation(nil)}, keys: []string{"R"}},
	} {
		for size, wh := range shelltest.Drawn(name, "job") {
			t.Run(name+"-"+size, func(t *testing.T) {
				f := c.f
				factory := func(env *ui.Env, p ui.Place) ui.Screen {
					s := NewScreen(env, f.caller(), f.parts(), p.ID)
					if c.wrap != nil {
						return c.wrap(s)
					}
					return s
				}
				r := shelltest.Open(t, uitest.NewClock(), factory, ui.Place{Kind: ui.KindDocuments, ID: c.id}, c.opts...)
				r.Send(uitest.Size(wh[0], wh[1]))
				if c.fail {
					f.err = gone
				}
				for _, k := range c.keys {
					r.Send(uitest.Key(k))
				}
				golden.RequireEqual(t, r.View())
			})
		}
	}
}

// TestWaitingIsNoFailure: a write that becomes a request says where it waits.
func TestWaitingIsNoFailure(t *testing.T) {
	f := &fake{op: apitest.Operation(nil)}
	f.remove = func(api.RemoveDocument) (api.Operation, error) {
		return api.Operation{}, &api.Error{Kind: api.Refused, Rule: api.RuleApproval, Public: "A second person must approve this first: request r1.", Hint: "Ask a colleague."}
	}
	r, clock := open(t, f)
	r.Send(uitest.Key("x"), clock.Wait(shelltest.Armed), uitest.Key("y"))
	r.Has("Removal needs a second person", "request r1", "Ask a colleague.", "8, then Q")
}

// TestFilesToAttachHaveSizeAndTime: at each width from 80 on a file to attach has its size and time beside any name, and
// says that it is locked; the filter also finds it by the part of its name that is cut.
func TestFilesToAttachHaveSizeAndTime(t *testing.T) {
	var file api.CustomerFile
	raw := `{"id":"f-9","fileName":"` + strings.Repeat("long ", 20) + `end.pdf","size":101374,"createdAt":"2026-03-02T10:20:00Z",` +
		`"isLock":true,"type":"PASSPORT"}`
	if err := json.Unmarshal([]byte(raw), &file); err != nil {
		t.Fatal(err)
	}
	f := &fake{op: apitest.Operation(nil), files: []api.CustomerFile{file}}
	for w := 80; w <= 160; w += 8 {
		r, _ := open(t, f)
		r.Send(uitest.Size(w, 30), uitest.Key("a"))
		r.Has("long long", "end.pdf", "101 kB  2026-03-02 10:20  locked")
		r.Send(uitest.Type("long long end.pdf"))
		r.Has("end.pdf  101 kB")
	}
}
