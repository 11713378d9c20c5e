package journal_test

import (
	"errors"
	"testing"

	"opdeck/internal/domain/note"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

// TestNotes: notes are listed by object, newest first, found by text in any case, bounded, and go when they are old.
func TestNotes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx, notes := t.Context(), journal.NewNotes(s.Core)
		for i, n := range []note.Note{{UID: "1", Object: note.Operation, ID: "op", Author: "ana", Text: "Bank CALLED, 50% paid"},
			{UID: "2", Object: note.Operation, ID: "op", Author: "ben", Text: "a_b \x1b[2J"},
			{UID: "3", Object: note.Customer, ID: "D1", Author: "ben", Text: "called the customer"}} {
			if got, err := notes.Put(ctx, "u m", n, 2); err != nil || got.At.IsZero() {
				t.Fatalf("%d: %v %v", i, got, err)
			}
		}
		if _, err := notes.Put(ctx, "u m", note.Note{UID: "4", Object: note.Operation, ID: "op"}, 2); !errors.Is(err, note.ErrFull) {
			t.Errorf("a third note: %v", err)
		}
		uids := func(list []note.Note, err error) (out string) {
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range list {
				out += n.UID
			}
			return out
		}
		for _, c := range []struct{ got, want string }{
			{uids(notes.About(ctx, "u m", note.Operation, "op", 9)), "21"}, {uids(notes.About(ctx, "u m", "", "D1", 9)), "3"},
			{uids(notes.About(ctx, "u m", "", "", 2)), "32"}, {uids(notes.About(ctx, "other", "", "", 9)), ""},
			{uids(notes.Find(ctx, "u m", "Called", 9)), "31"}, {uids(notes.Find(ctx, "u m", "50%", 9)), "1"},
			{uids(notes.Find(ctx, "u m", "a_b", 9)), "2"}, {uids(notes.Find(ctx, "u m", "axb", 9)), ""}, {uids(notes.Find(ctx, "u m", "cállED", 9)), "31"},
		} {
			if c.got != c.want {
				t.Errorf("%q, want %q", c.got, c.want)
			}
		}
		list, err := notes.About(ctx, "u m", "", "op", 9)
		if err != nil || list[0].Text != "a_b \x1b[2J" || list[0].Author != "ben" || list[0].Object != note.Operation {
			t.Errorf("%+v %v", list, err)
		}
	})
}
