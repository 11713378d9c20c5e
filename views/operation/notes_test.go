package operation

import (
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/note"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
	"opdeck/ui"
	"opdeck/ui/uitest"
)

// TestNotes: the screen shows the notes about its operation with author and time, safe to draw, and takes a new one.
func TestNotes(t *testing.T) {
	f := &fake{op: apitest.Operation(nil)}
	id := string(f.op.OPID)
	st := storetest.Open(t, store.SQLite)
	log, err := audit.New(audit.Options{Store: journal.NewAudit(st.Core)})
	if err != nil {
		t.Fatal(err)
	}
	f.notes = &note.Notes{Store: journal.NewNotes(st.Core), Gate: &api.Gate{Audit: log, Now: time.Now}}
	var day string // of the notes
	for _, n := range []note.Note{{UID: "1", Object: note.Operation, ID: id, Author: "b\x1b[2Jen",
		Text: "bank \x1b]0;owned\x07 called"}, {UID: "2", Object: note.Operation, ID: "another", Text: "not this one"}} {
		if n, err = f.notes.Store.Put(t.Context(), "", n, note.Kept); err != nil {
			t.Fatal(err)
		}
		day = n.At.UTC().Format(time.DateOnly)
	}
	r, _ := open(t, f, func(o *ui.Options) {
		o.Context = api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Operator})
	})
	r.Send(uitest.Size(160, 45))
	r.Has("Notes", "N writes one", day, "called")
	if screen := r.View(); strings.Contains(screen, "\x1b]0") || strings.Contains(screen, "not this one") {
		t.Errorf("the screen shows %q", screen)
	}
	r.Send(uitest.Key("N"))
	r.Has("For colleagues", "never")
	r.Send(uitest.Type("waits for the contract"), uitest.Key("enter"))
	r.Has("Note saved.", "waits for the contract", "ana")
	if list, err := f.notes.Store.About(t.Context(), "", note.Operation, id, note.Kept); err != nil || len(list) != 2 {
		t.Errorf("%+v %v", list, err)
	}
}
