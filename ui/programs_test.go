package ui_test

import (
	"context"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/ui"
	"opdeck/ui/uitest"
)

// programs are fake programs that get the terminal.
type programs struct {
	noPager, noEditor string
	paged             []string
	edited            []string // name: text
	err               error
}

func (p *programs) Pager() (string, string)  { return "less", p.noPager }
func (p *programs) Editor() (string, string) { return "vim", p.noEditor }
func (p *programs) Folder() string           { return "/run/user/7" }
func (p *programs) Page(_ context.Context, text string) error {
	p.paged = append(p.paged, text)
	return p.err
}
func (p *programs) Edit(_ context.Context, name, text string) error {
	p.edited = append(p.edited, name+": "+text)
	return p.err
}

// TestTextToPrograms: the pager gets the lines that are shown; the editor gets them after
// a yes that was told about the file.
func TestTextToPrograms(t *testing.T) {
	w, p := newWorld(), &programs{}
	o := w.options(ui.Test)
	o.Programs = p
	r := w.start(t, o).Send(uitest.Key("J"))
	has(t, r, "p pager", "e editor")
	r.Send(uitest.Key("p"))
	if len(p.paged) != 1 || !strings.Contains(p.paged[0], "\n    \"units\": \"12345678901234567890\",\n") {
		t.Fatalf("%q", p.paged)
	}
	r.Send(uitest.Key("e"))
	has(t, r, "Write this JSON to a temporary file and open it?", "Document as sent", "vim", "/run/user/7", "only you may read", "not read back", "[ No ]")
	r.Send(w.clock.Wait(armed), uitest.Key("n"))
	has(t, r, "Not opened. Nothing was written.")
	if len(p.edited) != 0 {
		t.Fatalf("%q", p.edited)
	}
	r.Send(uitest.Key("e"), w.clock.Wait(armed), uitest.Key("y"))
	has(t, r, "nothing was read back", "Document as sent")
	if len(p.edited) != 1 || p.edited[0] != "Document-as-sent.json: "+p.paged[0] {
		t.Errorf("%q", p.edited)
	}
	p.err = &api.Error{Kind: api.Internal, Public: "less was ended by a signal: killed."}
	r.Send(uitest.Key("p"))
	has(t, r, "less was ended by a signal: killed.")
}

// TestNoProgramsSayWhy: a key that hands nothing over is not offered, and says why.
func TestNoProgramsSayWhy(t *testing.T) {
	for _, p := range []*programs{nil, {noPager: "There is none.", noEditor: "There is none."}} {
		w := newWorld()
		o := w.options(ui.Test)
		if o.NoPrograms = "There is none."; p != nil {
			o.Programs = p
		}
		r := w.start(t, o).Send(uitest.Key("J"))
		hasNot(t, r, "p pager")
		hasNot(t, r, "e editor")
		for _, k := range []string{"p", "e"} {
			r.Send(uitest.Key(k))
			has(t, r, "There is none.", "Document as sent")
		}
	}
	w := newWorld()
	o := w.options(ui.Test)
	o.Programs = &programs{}
	r := w.start(t, o).Send(uitest.Key("?"))
	hasNot(t, r, "p pager") // help is no record
}
