package ui_test

import (
	"strings"
	"testing"
	"time"

	"opdeck/api/apitest"
	"opdeck/api/evidence"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/uitest"
)

// TestWhy: e says what was concluded of the object on the screen, with the read that showed it;
// where the screen has another key e, E does.
func TestWhy(t *testing.T) {
	w := newWorld()
	o := w.options(ui.Test)
	o.UTC = true
	book := &evidence.Book{}
	o.Context = evidence.In(t.Context(), book)
	r := w.start(t, o)
	for _, key := range []string{"e", "E"} {
		r.Send(uitest.Key(key))
		r.Has("No conclusions yet.")
		r.Send(w.clock.Wait(time.Second), uitest.Key("esc"))
	}
	at := time.Date(2026, 3, 2, 11, 2, 14, 0, time.UTC)
	book.Add(evidence.Conclusion{Says: "removed", Object: "7F3A", Rests: []evidence.Evidence{{
		Read: "the operation read", Seen: evidence.Moment{At: at}, Shows: "no longer lists it" + apitest.Hostile}}})
	r.Send(uitest.Key("e"))
	r.Has("removed: the operation read at 11:02:14 no longer lists")
	r.Send(w.clock.Wait(time.Second), uitest.Key("esc"))
	w.top().keysFor = func(m *keymap.Map) []keymap.Key { return []keymap.Key{m.Operations.Export} }
	if r.Send(uitest.Key("e")); strings.Contains(r.View(), "removed:") {
		t.Error("e is the screen's own key here")
	}
	r.Send(uitest.Key("E"))
	r.Has("removed: the operation read at 11:02:14")
}
