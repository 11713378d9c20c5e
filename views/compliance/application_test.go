package compliance

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

func (f *fake) listFiles(_ context.Context, q endpoint.FileQuery) (api.Page[api.CustomerFile], error) {
	f.calls++
	a := cmp.Or(f.aPage, len(f.files))
	from := min(q.Page*a, len(f.files))
	return api.Page[api.CustomerFile]{Items: f.files[from:min(from+a, len(f.files))], Total: api.Number(strconv.Itoa(len(f.files)))}, f.noFiles
}

func (f *fake) setApplication(_ context.Context, in endpoint.NewApplication) (api.Result, error) {
	f.calls++
	f.set = append(f.set, string(in.Body))
	return f.setting()
}

func (f *fake) DocumentTypes(context.Context) ([]untrusted.Text, error) {
	return []untrusted.Text{"PHOTO", "DEED"}, nil
}

// applicant is a customer whose application has a document and members that no one knows.
func applicant() *fake {
	f := individual()
	f.app.Individual = json.RawMessage(`{"application":{"firstName":"Ana","lastName":"Kovačević","risk":1.50,"odd":{"deep":[1]}},
		"documents":[{"type":"PHOTO","fileId":"f-1","note":null}],"later":9007199254740993}`)
	f.files = []api.CustomerFile{{ID: "f-1", FileName: "photo.png", Type: "PHOTO"}, {ID: "f-2", FileName: "lease.pdf", Type: "LEASE_AGREEMENT"}}
	f.setting = func() (api.Result, error) { return api.Result{Success: true, Message: "Application saved"}, nil }
	return f
}

func unmasked(o *ui.Options) { o.Mask = false }

// TestSetApplication: a text is changed and a document added; all else is sent as it was
// read, to the digit.
func TestSetApplication(t *testing.T) {
	f := applicant()
	r, clock := open(t, f, unmasked)
	r.Send(uitest.Size(110, 40), uitest.Key("_"))
	r.Says("Application, individual", "firstName", "Kovačević", "Fields that are not shown here stay unchanged.")
	r.Send(uitest.Key("ctrl+u"), uitest.Type("Anna"), uitest.Keys("enter", "enter"), uitest.Type("resid"), uitest.Keys("down", "enter", "enter"))
	r.Says("File of PROOF_OF_RESIDENCE", "No file", "lease.pdf", "LEASE_AGREEMENT", "All files read: 2")
	r.Send(uitest.Key("esc")) // back to the form, with what was typed
	r.Says("Anna", "PROOF_OF_RESIDENCE")
	r.Send(uitest.Keys("enter", "enter", "enter"), uitest.Type("lease"), uitest.Key("enter"))
	r.Says("Documents to add", "Add another", "Remove PROOF_OF_RESIDENCE, file f-2")
	r.Send(uitest.Key("enter"))
	r.Says("Ana → Anna", "1 → 2", "PROOF_OF_RESIDENCE, file f-2", "[ No ]")
	if len(f.set) != 0 {
		t.Fatal("sent before the answer")
	}
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"))
	r.Says("Set. Application saved")
	want := `{"individual":{"application":{"firstName":"Anna","lastName":"Kovačević","odd":{"deep":[1]},"risk":1.50},` +
		`"documents":[{"type":"PHOTO","fileId":"f-1","note":null},{"fileId":"f-2","type":"PROOF_OF_RESIDENCE"}],"later":9007199254740993}}`
	if len(f.set) != 1 || f.set[0] != want {
		t.Errorf("sent %q\nnot  %q", f.set, want)
	}
}

// TestAnotherApplicationIsNotOverwritten: what someone else wrote meanwhile stays, and
// what was typed comes back.
func TestAnotherApplicationIsNotOverwritten(t *testing.T) {
	f := applicant()
	r, clock := open(t, f, unmasked)
	r.Send(uitest.Size(110, 40), uitest.Key("_"), uitest.Key("ctrl+u"), uitest.Type("Anna"), uitest.Keys("enter", "enter", "enter"))
	f.app.Individual = json.RawMessage(`{"application":{"firstName":"Other"}}`)
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"))
	r.Says("changed by another client", "close the form and open it", "Anna")
	if len(f.set) != 0 {
		t.Errorf("sent %q", f.set)
	}
}

// TestNothingIsAssumedOfAnApplication: what no answer showed is not offered.
func TestNothingIsAssumedOfAnApplication(t *testing.T) {
	for name, c := range map[string]struct {
		body      string
		want, not string
	}{
		"no list":       {`{"application":{"firstName":"Ana"}}`, "The application has no readable list of documents", "Further document"},
		"no file seen":  {`{"application":{"firstName":"Ana"},"documents":[]}`, "The file itself cannot be chosen here", "File of"},
		"another place": {`{"application":{"a":"b"},"documents":{"x":1}}`, "The application has no readable list of documents", "Further document"},
		"no text":       {`{"application":7}`, "has no text that can be changed here", "Further document"},
	} {
		t.Run(name, func(t *testing.T) {
			f := applicant()
			f.app.Individual = json.RawMessage(c.body)
			r, _ := open(t, f, unmasked)
			r.Send(uitest.Size(110, 40), uitest.Key("_"))
			r.Says(c.want)
			if strings.Contains(r.View(), c.not) {
				t.Errorf("%q shows in\n%s", c.not, r.View())
			}
		})
	}
}

// TestAnApplicationIsNotSent: with nothing changed, in a read-only context, and where its
// values are masked.
func TestAnApplicationIsNotSent(t *testing.T) {
	f := applicant()
	r, _ := open(t, f, unmasked)
	r.Send(uitest.Size(110, 40), uitest.Key("_"), uitest.Keys("enter", "enter", "enter"))
	r.Says("Nothing was changed")
	r, _ = open(t, f, unmasked, shelltest.ReadOnly)
	r.Send(uitest.Key("_"))
	r.Says("read-only")
	r, clock := open(t, f, func(o *ui.Options) { o.Mask = true })
	f.app.Individual = json.RawMessage(`{"application":{"emailAddress":"ana@example.com","firstName":"Ana","iban":"EE382200221020145685"},"documents":[]}`)
	r.Send(uitest.Size(110, 40), uitest.Key("_"))
	r.Says("Masked values are left out", "› firstName")
	for _, secret := range []string{"ana@", "EE382200221020145685"} {
		if strings.Contains(r.View(), secret) {
			t.Errorf("%s shows in\n%s", secret, r.View())
		}
	}
	r.Send(uitest.Type("x"), uitest.Keys("enter", "enter"), clock.Wait(shelltest.Armed), uitest.Key("y"))
	if len(f.set) != 1 || !strings.Contains(f.set[0], `"ana@example.com"`) || !strings.Contains(f.set[0], `"Anax"`) {
		t.Errorf("sent %q", f.set)
	}
	f.set = nil
	r, _ = open(t, f, func(o *ui.Options) { o.About.Role = "viewer" })
	r.Send(uitest.Key("_"))
	r.Says("masked values cannot be sent back")
	if len(f.set) != 0 {
		t.Errorf("sent %q", f.set)
	}
}

func TestApplicationForm(t *testing.T) {
	bad := applicant()
	bad.files[1].FileName += apitest.Hostile
	bad.app.Individual = json.RawMessage(`{"application":{"firstName":"Ana","lastName":"a\u001b[2Jb"},"documents":[{"fileId":"f-1"}]}`)
	for name, c := range map[string]struct {
		f    *fake
		tabs int // to the type of a document
	}{"form": {applicant(), 2}, "hostile": {bad, 1}} {
		for size, wh := range shelltest.Drawn(name, "form") {
			t.Run(name+"-"+size, func(t *testing.T) {
				r, _ := open(t, c.f, unmasked)
				r.Send(uitest.Size(wh[0], wh[1]), uitest.Key("_"), uitest.Keys(slices.Repeat([]string{"tab"}, c.tabs)...), uitest.Key("down"))
				golden.RequireEqual(t, r.View())
			})
			t.Run(name+"-file-"+size, func(t *testing.T) {
				r, _ := open(t, c.f, unmasked)
				r.Send(uitest.Size(wh[0], wh[1]), uitest.Key("_"), uitest.Keys(slices.Repeat([]string{"tab"}, c.tabs)...), uitest.Type("DEED"), uitest.Key("enter"))
				golden.RequireEqual(t, r.View())
			})
		}
	}
}

// TestFilesOfAnApplicationReadOn: the files to choose from are read by page, one customer
// call each, and what was read shows how a document names its file.
func TestFilesOfAnApplicationReadOn(t *testing.T) {
	f := applicant()
	f.aPage = 1
	f.files = []api.CustomerFile{{ID: "f-9", FileName: "other.pdf"}, f.files[0], f.files[1]} // f-1, which the application names, is on the second page
	r, _ := open(t, f, unmasked)
	before := f.calls
	r.Send(uitest.Size(110, 40), uitest.Key("_"), uitest.Keys("tab", "tab"), uitest.Type("DEED"), uitest.Key("enter"))
	r.Says("File of DEED", "other.pdf", "No document of this application names a file", "1 of 3 files read", "More files (one customer call)")
	if f.calls != before+2 {
		t.Errorf("%d calls", f.calls-before)
	}
	r.Send(uitest.Keys("down", "down"))
	r.Says("▌ photo.png", "2 of 3 files read")
	f.noFiles = &api.Error{Kind: api.Unavailable, Public: "The service does not answer."}
	r.Send(uitest.Key("down"))
	r.Says("could not be read: The service does not answer.", "More files")
	f.noFiles = nil
	r.Send(uitest.Key("down"))
	r.Says("▌ lease.pdf", "All files read: 3")
	if strings.Contains(r.View(), "not known yet") || f.calls != before+5 {
		t.Errorf("%d calls\n%s", f.calls-before, r.View())
	}
	r.Send(uitest.Key("esc"))
	r.Says("Application, individual", "DEED") // the form is still known after reading on
	r.Send(uitest.Keys("tab", "tab", "enter"))
	r.Says("All files read: 3") // and are not asked for again
	r.Send(uitest.Type("photo"), uitest.Key("enter"))
	r.Says("Remove DEED, file f-1")
	r.Send(uitest.Type("another"), uitest.Key("enter"), uitest.Type("DEED"), uitest.Key("enter"))
	r.Says("File of DEED", "All files read: 3")
	r.Send(uitest.Paste("f-77"), uitest.Key("enter"))
	r.Says("Remove DEED, file f-77")
	if f.calls != before+5 {
		t.Errorf("%d calls", f.calls-before)
	}
}

// TestARefusedTokenIsTypedAgain: its form comes back empty, and says so.
func TestARefusedTokenIsTypedAgain(t *testing.T) {
	f := individual()
	f.share = func() (api.ShareResult, error) {
		return api.ShareResult{}, &api.Error{Kind: api.Refused, Public: "The service refused this token."}
	}
	r, clock := open(t, f)
	r.Send(uitest.Size(110, 40), uitest.Key("S"), uitest.Paste(token), uitest.Key("enter"), clock.Wait(shelltest.Armed), uitest.Key("y"))
	r.Says("Applying the share token refused.", "The service refused this token.", "Secrets are not kept: type it again.", "› Token")
	if strings.Contains(r.View(), "••") {
		t.Errorf("the token is kept:\n%s", r.View())
	}
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("enter"))
	r.Says("› Token")
	if len(f.shares) != 1 {
		t.Errorf("sent %d times", len(f.shares))
	}
}

// TestSeveralDocuments: further ones are listed, one is taken off again, one that is there
// already is not added; one request sends them all, and one that is refused comes back.
func TestSeveralDocuments(t *testing.T) {
	f := applicant()
	r, clock := open(t, f, unmasked)
	add := func(kind string) { r.Send(uitest.Type(kind), uitest.Keys("enter", "enter")) }
	r.Send(uitest.Size(110, 40), uitest.Key("_"), uitest.Keys("enter", "enter"))
	add("CONTRACT")
	for _, kind := range []string{"INVOICE", "PHOTO"} {
		r.Send(uitest.Type("another"), uitest.Key("enter"))
		r.Says("To be added: CONTRACT")
		add(kind)
	}
	r.Says("one request with 3 documents", "Remove INVOICE")
	r.Send(uitest.Type("remove from list inv"), uitest.Key("enter"))
	r.Says("one request with 2 documents")
	r.Send(uitest.Type("another"), uitest.Key("enter"))
	add("PHOTO")
	r.Says("Already in the list: PHOTO", "one request with 2 documents")
	r.Send(uitest.Key("esc")) // to the form that was filled in last; esc there asks before it is lost
	r.Says("Another document", "PHOTO")
	r.Send(uitest.Key("esc"))
	r.Says("Discard the form “")
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("esc"), uitest.Keys("enter", "enter"))
	r.Says("one request with 2 documents")
	r.Send(uitest.Key("enter"))
	r.Says("1 → 3", "CONTRACT", "PHOTO", "[ No ]")
	if strings.Contains(r.View(), "INVOICE") {
		t.Errorf("what was taken off shows:\n%s", r.View())
	}
	f.setting = func() (api.Result, error) {
		return api.Result{}, &api.Error{Kind: api.Refused, Public: "The service refuses it."}
	}
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"))
	r.Says("The service refuses it.", "Another document", "PHOTO")
	const want = `"documents":[{"type":"PHOTO","fileId":"f-1","note":null},{"type":"CONTRACT"},{"type":"PHOTO"}]`
	if len(f.set) != 1 || !strings.Contains(f.set[0], want) {
		t.Errorf("sent %q", f.set)
	}
}
