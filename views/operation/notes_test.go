package operation

import (
	"context"
	"strings"
	"testing"
	"time"

	"opdeck/api/apitest"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/note"
	"opdeck/ui/uitest"
	"opdeck/views/notes"
)

// fakeBook keeps notes in memory, newest first.
type fakeBook struct{ list []note.Note }

var _ notes.Book = (*fakeBook)(nil)

func (b *fakeBook) About(_ context.Context, object, id string) ([]note.Note, error) {
	var out []note.Note
	for _, n := range b.list {
		if n.Object == object && n.ID == id {
			out = append(out, n)
		}
	}
	return out, nil
}

func (b *fakeBook) Add(_ context.Context, object, id, text string) (note.Note, error) {
	n := note.Note{Object: object, ID: id, Author: "ana", At: time.Date(2026, 11, 3, 9, 0, 0, 0, time.UTC),
		Text: untrusted.Text(text)}
	b.list = append([]note.Note{n}, b.list...)
	return n, nil
}

// TestNotes: the screen shows the notes about its operation with author and time, safe to draw, and takes a new one.
func TestNotes(t *testing.T) {
	f := &fake{op: apitest.Operation(nil)}
	id := string(f.op.OPID)
	book := &fakeBook{list: []note.Note{{Object: note.Operation, ID: id, Author: "b\x1b[2Jen",
		At: time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC), Text: "bank \x1b]0;owned\x07 called"},
		{Object: note.Operation, ID: "another", Text: "not this one"}}}
	f.notes = book
	r, _ := open(t, f)
	r.Send(uitest.Size(160, 45))
	r.Has("Notes", "N writes one", "2026-11-02", "called")
	if screen := r.View(); strings.Contains(screen, "\x1b]0") || strings.Contains(screen, "not this one") {
		t.Errorf("the screen shows %q", screen)
	}
	r.Send(uitest.Key("N"))
	r.Has("For colleagues", "never")
	r.Send(uitest.Type("waits for the contract"), uitest.Key("enter"))
	r.Has("Note saved.", "waits for the contract", "ana")
	if len(book.list) != 3 || book.list[0].ID != id {
		t.Errorf("%+v", book.list)
	}
}
