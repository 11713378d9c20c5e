package documents

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aymanbagabas/go-osc52/v2"
	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/approval"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// newFile makes a file that can be uploaded.
func newFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "new.pdf")
	if err := os.WriteFile(path, []byte("%PDF-1.4 new"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// uploading opens the form over the home folder of a person.
func uploading(t *testing.T, f *fake) (*uitest.Run, *uitest.Clock) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	for name, body := range map[string]string{"scans/deed.pdf": "%PDF-1.4 deed", "scans/notes.txt": "text",
		"big.txt": strings.Repeat("x", 2<<20), "empty.pdf": ""} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, clock := open(t, f)
	r.Send(uitest.Size(100, 40), uitest.Key("u"))
	return r, clock
}

// TestAPathIsCompleted: tab continues with the path, a list is chosen from, and the file
// is described below its path.
func TestAPathIsCompleted(t *testing.T) {
	f := &fake{op: apitest.Operation(nil)}
	r, _ := uploading(t, f)
	before := f.calls
	r.Send(uitest.Type("~/sc"), uitest.Key("tab"))
	r.Has("~/scans/", "deed.pdf", "notes.txt")
	r.Send(uitest.Keys("down", "enter"))
	r.Has("~/scans/deed.pdf", "13 B, application/pdf", "› Type")
	if f.calls != before {
		t.Errorf("%d calls", f.calls-before)
	}
	// Where nothing can be completed tab continues.
	r.Send(uitest.Key("shift+tab"), uitest.Key("tab"))
	r.Has("› Type")
}

// TestABadFileIsSaidAtOnce: beside its field, before anything is asked or sent.
func TestABadFileIsSaidAtOnce(t *testing.T) {
	for typed, want := range map[string]string{
		"~/none.pdf":  "The file does not exist.",
		"~/scans":     "This is a folder: name a file in it.",
		"~/big.txt":   "The file is too large: it has 2,097,152 bytes",
		"~/empty.pdf": "The file is empty.",
	} {
		f := &fake{op: apitest.Operation(nil)}
		r, _ := uploading(t, f)
		before := f.calls
		r.Send(uitest.Paste(typed), uitest.Key("enter"))
		r.Has(want)
		r.Send(uitest.Type("invoice"), uitest.Keys("enter", "enter"))
		r.Has("› File on this host", want, "INVOICE")
		if f.calls != before {
			t.Errorf("%s: %d calls", typed, f.calls-before)
		}
	}
}

// TestTypesAreOffered: those of the operation first; what is typed becomes capitals, and
// a type that is not listed may be sent.
func TestTypesAreOffered(t *testing.T) {
	for name, c := range map[string]struct {
		keys []tea.Msg
		kind string
	}{
		"chosen":   {[]tea.Msg{uitest.Type("ladi"), uitest.Keys("down", "enter")}, "BILL_OF_LADING"},
		"typed":    {[]tea.Msg{uitest.Type("my_own"), uitest.Key("tab")}, "MY_OWN"},
		"first":    {[]tea.Msg{uitest.Keys("down", "enter")}, "OPERATION_DOCUMENT"},
		"up again": {[]tea.Msg{uitest.Keys("down", "down", "up", "up"), uitest.Type("x"), uitest.Key("tab")}, "X"},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := uploading(t, &fake{op: apitest.Operation(nil)})
			r.Send(uitest.Paste("~/scans/deed.pdf"), uitest.Key("enter"))
			r.Has("document type used", "more")
			r.Send(c.keys...)
			r.Has("› Description", c.kind)
			r.Send(uitest.Key("enter"))
			r.Has("Upload deed.pdf and attach it", c.kind, "13 B, application/pdf")
		})
	}
}

// TestARefusedFormComesBack: filled in, with what was said, the wrong field marked; keys
// that were on their way do not close it.
func TestARefusedFormComesBack(t *testing.T) {
	f := &fake{op: apitest.Operation(nil)}
	f.upload = func(string) (api.CustomerFile, error) {
		return api.CustomerFile{}, api.Classify("upload document", 413,
			[]byte(`{"error":"The file is over 10 MB"}`))
	}
	r, clock := uploading(t, f)
	r.Send(uitest.Paste("~/scans/deed.pdf"), uitest.Key("enter"), uitest.Type("contracct"), uitest.Key("enter"),
		uitest.Type("signed"), uitest.Key("enter"))
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"))
	r.Has("Upload refused", "The file is over 10 MB", "~/scans/deed.pdf", "› File", "signed",
		"keys are ignored for a moment")
	r.Send(uitest.Keys("enter", "esc"), uitest.Type("x"))
	r.Has("Upload refused", "› File")
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("esc"))
	r.Has("Discard the form “Upload and attach”?") // nothing is lost without a question
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("n"))
	f.upload = func(string) (api.CustomerFile, error) { return api.CustomerFile{ID: "f-1"}, nil }
	f.attach = func(string, string) (api.Operation, error) { return f.op, nil }
	r.Send(uitest.Key("ctrl+u"), uitest.Paste("~/scans/deed.pdf"), uitest.Keys("enter", "enter", "enter"), clock.Wait(shelltest.Armed),
		uitest.Key("y"))
	r.Has("Uploaded and attached deed.pdf.")
	r.Send(uitest.Key("!"))
	r.Has("Upload refused. The service does not accept this file.")
}

// TestAHalfDoneUploadIsNotOfferedAgain: the file is there, so the form does not come back.
func TestAHalfDoneUploadIsNotOfferedAgain(t *testing.T) {
	f := &fake{op: apitest.Operation(nil)}
	f.upload = func(string) (api.CustomerFile, error) { return api.CustomerFile{ID: "f-1"}, nil }
	f.attach = func(string, string) (api.Operation, error) {
		return api.Operation{}, api.Refusal("attach document", api.RuleEndState, "The operation has ended.")
	}
	r, clock := uploading(t, f)
	r.Send(uitest.Paste("~/scans/deed.pdf"), uitest.Keys("enter", "enter", "enter"), clock.Wait(shelltest.Armed),
		uitest.Key("y"))
	r.Has("Upload refused", "The file is uploaded as f-1")
	if strings.Contains(r.View(), "File on this host") {
		t.Errorf("it is offered again:\n%s", r.View())
	}
	r.Send(uitest.Keys("enter", "enter", "enter"))
	r.Has("Upload refused") // one enter too many does not close it
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("enter"))
	if strings.Contains(r.View(), "Upload refused") {
		t.Errorf("it stays:\n%s", r.View())
	}
}

// TestTheTypedQuestionSaysWhatEnterDoes: the hints follow the mark, and a no is reported.
func TestTheTypedQuestionSaysWhatEnterDoes(t *testing.T) {
	f := &fake{op: apitest.Operation(nil)}
	f.remove = func(api.RemoveDocument) (api.Operation, error) { t.Error("removed"); return f.op, nil }
	r, clock := open(t, f, shelltest.Production)
	r.Send(uitest.Key("x"), clock.Wait(shelltest.Armed))
	r.Has("type 4 characters, then enter: Remove", "esc No")
	for _, k := range "b79d" {
		r.Send(uitest.Key(string(k)))
	}
	r.Has("[ Remove ]", "enter: Remove  esc No  tab changes")
	r.Send(uitest.Key("tab"))
	r.Has("[ No ]", "enter: No  esc No  tab changes")
	r.Send(uitest.Key("enter"))
	r.Has("Not removed.")
}

// TestASecondPersonIsAskedFor: the button says what a yes does now, and the write carries just that: the reason that
// was typed and asking only, or the reason that was approved and sending.
func TestASecondPersonIsAskedFor(t *testing.T) {
	f := &fake{op: apitest.Operation(nil)}
	var sent []api.Consent
	f.consent = func(c api.Consent) { sent = append(sent, c) }
	f.remove = func(api.RemoveDocument) (api.Operation, error) {
		return api.Operation{}, api.Refusal("remove document", api.RuleApproval, "A second person must approve this.")
	}
	r, clock := open(t, f, func(o *ui.Options) { o.About.SecondPerson = true })
	yes := func() {
		r.Send(clock.Wait(time.Second), uitest.Key("y"), clock.Wait(time.Second), uitest.Key("esc"))
	}
	r.Send(uitest.Key("x"))
	r.Has("A second person must approve this.", "Reason")
	r.Send(uitest.Type("wrong file"), uitest.Key("enter"))
	r.Has("[ No ]    Ask for approval", "Nothing is sent yet.", "wrong file")
	yes()
	mine := ui.AskedWrite{Act: api.ActRemoveDocument, ID: opid, Item: string(f.op.Documents[0].GUID), State: approval.Open,
		Reason: "wrong file", By: "ben", Until: clock.Now().Add(time.Minute)}
	r.Send(ui.Approvals{Mine: []ui.AskedWrite{mine}}, uitest.Key("x"), uitest.Key("enter"))
	r.Has("[ No ]    Ask for approval", "wrong file") // the reason of the request that waits
	yes()
	mine.State = approval.Approved
	r.Send(ui.Approvals{Mine: []ui.AskedWrite{mine}}, uitest.Key("x"))
	r.Has("[ No ]    Send now (approved by ben)", "Approved by ben.", "This sends it now.", "1 approved")
	yes()
	r.Send(uitest.Key("j"), uitest.Key("x"), uitest.Key("enter"))
	r.Has("[ No ]    Ask for approval", "no reason given") // another document
	r.Send(clock.Wait(time.Second), uitest.Key("n"))
	want := []api.Consent{{Reason: "wrong file", AskOnly: true}, {Reason: "wrong file", AskOnly: true},
		{Reason: "wrong file"}}
	if !slices.Equal(sent, want) {
		t.Errorf("%+v", sent)
	}
}

// TestOverSSHTheCommandIsShown: no form opens; what is copied is what is there, and a
// hostile name is no part of it.
func TestOverSSHTheCommandIsShown(t *testing.T) {
	op := apitest.Operation(nil)
	op.Documents = []api.Document{{GUID: "d-1", FileName: "it's $(id) signed.pdf"},
		{GUID: "d-2", FileName: "a\x1b[201~\nrm.pdf"}}
	for name, c := range map[string]struct {
		keys []tea.Msg
		copy string
	}{
		"upload": {[]tea.Msg{uitest.Key("u")}, "ssh -p 2222 ana@192.0.2.7 document upload - --customer DqCsgSE-4e95-ViYbNI " +
			"--name NAME --type TYPE --yes < FILE"},
		"replace": {[]tea.Msg{uitest.Key("R")}, "ssh -p 2222 ana@192.0.2.7 document replace " + opid +
			` d-1 - --name ''\''it'\''\'\'''\''s $(id) signed.pdf'\''' --yes < FILE`},
		"hostile": {[]tea.Msg{uitest.Keys("down", "R")}, "ssh -p 2222 ana@192.0.2.7 document replace " + opid +
			" d-2 - --name NAME --yes < FILE"},
	} {
		t.Run(name, func(t *testing.T) {
			copied := ""
			r, clock := open(t, &fake{op: op}, func(o *ui.Options) {
				o.About.Remote = "ssh -p 2222 ana@192.0.2.7"
				o.Copy = func(text []osc52.Sequence) error { copied = text[0].String(); return nil }
			})
			r.Send(c.keys...)
			r.Has("Files here are on the server.", "enter close  y copy the command")
			if strings.Contains(r.View(), "File on this host") {
				t.Errorf("a form opened:\n%s", r.View())
			}
			r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"))
			if want := base64.StdEncoding.EncodeToString([]byte(c.copy)); !strings.Contains(copied, want) {
				t.Errorf("copied %q, not %q\n%s", copied, c.copy, r.View())
			}
		})
	}
}

// TestTypesSeen: types that only answers showed are offered behind the known ones.
func TestTypesSeen(t *testing.T) {
	r, _ := uploading(t, &fake{op: apitest.Operation(nil), seen: []untrusted.Text{"DEED", "INVOICE"}})
	r.Send(uitest.Size(110, 40), uitest.Paste("~/scans/deed.pdf"), uitest.Key("enter"), uitest.Type("dee"))
	r.Has("DEED", "not documented")
}
