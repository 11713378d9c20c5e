package documents

import (
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/api/untrusted"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// TestPageOfADocument says what is known of it and how to see what it holds, and costs no call.
func TestPageOfADocument(t *testing.T) {
	f := &fake{op: apitest.Operation(nil)}
	r, _ := open(t, f)
	before := f.calls
	r.Send(uitest.Key("enter"))
	r.Has("Document invoice.pdf", "created", "w saves it")
	if f.calls != before {
		t.Errorf("%d calls", f.calls-before)
	}
	r.Send(uitest.Key("x"))
	if strings.Contains(r.View(), "Remove") {
		t.Errorf("the page removes:\n%s", r.View())
	}
	r.Send(uitest.Key("esc"))
	r.Has("3 documents")
	if strings.Contains(r.View(), "Document invoice.pdf") {
		t.Error(r.View())
	}
}

func TestSaveAsksBeforeItOverwrites(t *testing.T) {
	f := &fake{op: apitest.Operation(nil)}
	r, clock := open(t, f)
	r.Send(uitest.Key("w"))
	r.Has("invoice.pdf", "File on this host")
	r.Send(uitest.Key("enter"))
	r.Has("Overwrite invoice.pdf?", "[ No ]")
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"))
	r.Has("Saved invoice.pdf to invoice.pdf.")
	if len(f.saved) != 2 {
		t.Error(f.saved)
	}
}

func TestSaveOverSSHSaysTheCommand(t *testing.T) {
	f := &fake{op: apitest.Operation(nil)}
	r, clock := open(t, f, func(o *ui.Options) {
		o.Context = api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Operator, Via: "ssh"})
	})
	r.Send(uitest.Key("w"))
	r.Has("Files would be the server's", "document download D", "y copy the command")
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"))
	r.Has("the command")
	if len(f.saved) != 0 {
		t.Error(f.saved)
	}
}

// TestAttachPicks offers the customer's files: those attached cannot be chosen, and an id
// that is not among them can be typed.
func TestAttachPicks(t *testing.T) {
	op := apitest.Operation(nil)
	f := &fake{op: op, files: []api.CustomerFile{{ID: op.Documents[0].GUID, Name: "invoice.pdf"}, {ID: "free-1", Name: "passport.png", Type: "PASSPORT", Size: 100}}}
	var got []string
	f.attach = func(guid, _ string) (api.Operation, error) {
		got = append(got, guid)
		now := op
		now.Documents = append([]api.Document{{GUID: "free-1", FileName: "passport.png"}}, op.Documents...)
		return now, nil
	}
	r, clock := open(t, f)
	r.Send(uitest.Key("a"))
	r.Has("▌ passport.png", "off: already attached", "Another file") // the mark is on what can be attached
	r.Send(uitest.Type("passp"), uitest.Key("enter"))
	r.Has("Attach passport.png to operation", "PASSPORT")
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"))
	r.Has("Attached passport.png.", "▌  passport.png")
	r.Send(uitest.Key("a"), uitest.Paste("0c5e9d2a-1f00-4000-8000-00000000abcd"), uitest.Key("enter"))
	r.Has("Attach file 0c5e9d")
	if len(got) != 1 || got[0] != "free-1" {
		t.Error(got)
	}
}

// TestAttachListAfterGoingOn: the customer's files that come once the person went on open
// nothing, on the page of a document as little as on another screen.
func TestAttachListAfterGoingOn(t *testing.T) {
	for name, keys := range map[string][]string{"page": {"enter"}, "filter": {"/"}, "help": {"?"}, "another screen": {"5"}} {
		t.Run(name, func(t *testing.T) {
			r, _ := open(t, &fake{op: apitest.Operation(nil), files: []api.CustomerFile{{ID: "free-1", Name: "passport.png"}}})
			shelltest.HoldAnswers(r)
			r.Send(uitest.Key("a"))
			for _, k := range keys {
				r.Send(uitest.Key(k))
			}
			r.Release()
			if strings.Contains(r.View(), "passport.png") {
				t.Errorf("the list opened:\n%s", r.View())
			}
			r.Has("was not opened")
		})
	}
}

// TestAttachListReadsOn: the end of the list reads the next page, one call each; what was
// typed narrows what was read, and the list says when that is all.
func TestAttachListReadsOn(t *testing.T) {
	f := &fake{op: apitest.Operation(nil), aPage: 2}
	for _, n := range []string{"one", "two", "three", "four", "five"} {
		f.files = append(f.files, api.CustomerFile{ID: untrusted.Text("id-" + n), Name: untrusted.Text(n + ".pdf")})
	}
	r, _ := open(t, f)
	before := f.calls
	r.Send(uitest.Key("a"))
	r.Has("▌ one.pdf", "two.pdf", "More files (one customer call)", "2 of 5 files read")
	r.Send(uitest.Key("down"))
	if f.calls != before+1 {
		t.Errorf("%d calls before the end was reached", f.calls-before)
	}
	r.Send(uitest.Key("down"))
	r.Has("▌ three.pdf", "4 of 5 files read")
	r.Send(uitest.Type("one"))
	r.Has("▌ one.pdf", "More files")
	if strings.Contains(r.View(), "three.pdf") || f.calls != before+2 {
		t.Errorf("%d calls\n%s", f.calls-before, r.View())
	}
	f.err = &api.Error{Kind: api.Unavailable, Public: "The service does not answer."}
	r.Send(uitest.Keys("down", "up", "down"))
	r.Has("could not be read: The service does not answer.", "More files")
	f.err = nil
	r.Send(uitest.Keys("up", "down"))
	r.Has("All files read: 5")
	if strings.Contains(r.View(), "More files") {
		t.Errorf("\n%s", r.View())
	}
	calls := f.calls
	r.Send(uitest.Keys("backspace", "backspace", "backspace", "down", "down", "down", "down", "down", "down", "down"))
	r.Has("▌ five.pdf", "Another file")
	if f.calls != calls {
		t.Errorf("%d calls though all was read", f.calls-calls)
	}
}
