package ui_test

import (
	"testing"
	"time"

	"opdeck/api/apitest"
	"opdeck/api/evidence"
	"opdeck/ui"
	"opdeck/ui/uitest"
)

// TestWhy: E says what was concluded of the object on the screen, with the read that showed it.
func TestWhy(t *testing.T) {
	w := newWorld()
	o := w.options(ui.Test)
	o.UTC = true
	book := &evidence.Book{}
	o.Context = evidence.In(t.Context(), book)
	r := w.start(t, o)
	r.Send(uitest.Key("E"))
	r.Has("No conclusions yet.")
	r.Send(w.clock.Wait(time.Second), uitest.Key("esc"))
	at := time.Date(2026, 3, 2, 11, 2, 14, 0, time.UTC)
	book.Add(evidence.Conclusion{Says: "removed", Object: "7F3A", Rests: []evidence.Evidence{{
		Read: "the operation read", Seen: evidence.Moment{At: at}, Shows: "no longer lists it" + apitest.Hostile}}})
	r.Send(uitest.Key("E"))
	r.Has("removed: the operation read at 11:02:14 no longer lists")
}
