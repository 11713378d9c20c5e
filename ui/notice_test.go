package ui_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/ui"
	"opdeck/ui/uitest"
)

// News that come together are shown one after the other, the most important first; what a key
// brings is at once, and none of them is lost.
func TestNoticesWaitForEachOther(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(ui.Toast{Level: ui.Info, Text: "Hello."}, ui.Toast{Level: ui.Warning, Text: "Two things wait.", Each: []string{"The first.", "The second."}})
	r.Has("Hello.")
	r.HasNot("Two things")
	r.Send(w.clock.Wait(5 * time.Second))
	r.Has("Two things wait.")
	r.Send(ui.Toast{Level: ui.Success, Text: "Approved."}, ui.Toast{Level: ui.Error, Text: "Broken."}, ui.Toast{Level: ui.Success, Text: "Approved."})
	r.Has("Broken.")
	r.Send(uitest.Key("#"))
	r.Has("does nothing here")
	var seen []string
	for range 60 {
		r.Send(w.clock.Wait(time.Second))
		for _, l := range []string{"Approved.", "Two things wait.", "Broken."} {
			if strings.Contains(r.View(), l) && !slices.Contains(seen, l) {
				seen = append(seen, l)
			}
		}
	}
	if got := strings.Join(seen, " "); got != "Approved. Two things wait." {
		t.Errorf("after each other: %s", got)
	}
	r.Send(uitest.Key("!"))
	r.Has("Hello.", "The first.", "The second.", "Approved.", "Broken.")
	r.HasNot("Two things wait.")
}

// Bad news that come again are said once, with how often; other news between them, and good
// news, are not counted together.
func TestBadNewsAreCounted(t *testing.T) {
	w := newWorld()
	const many = "The service reports too many requests."
	bad := ui.Toast{Level: ui.Error, Text: many}
	r := w.start(t, w.options(ui.Test)).Send(uitest.Size(120, 30), bad)
	r.Has(many)
	r.HasNot("times")
	r.Send(w.clock.Wait(2*time.Second), bad, w.clock.Wait(time.Second), bad)
	r.Has("too many requests (3 times).")
	r.Send(uitest.Key("!"))
	r.Has(many+"  3 times since 13:00:00", "13:00:03")
	if n := strings.Count(r.View(), many); n != 1 {
		t.Errorf("it is shown %d times in the list:\n%s", n, r.View())
	}
	done := ui.Toast{Level: ui.Success, Text: "Approved."}
	r.Send(done, done, bad)
	if n := strings.Count(r.View(), many); n != 2 || strings.Count(r.View(), "Approved.") != 2 {
		t.Errorf("it is shown %d times, and good news are counted:\n%s", n, r.View())
	}
}

// The activity keeps what happened, not keys that do nothing; notices are above the
// calls, however many there were.
func TestActivityKeepsNoDeadKeys(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Size(100, 30), ui.Toast{Level: ui.Warning, Text: "The feed is deaf."})
	for i := range 60 {
		r.Send(ui.CallFacts{ID: string(rune('A' + i)), What: "list operations", Class: "billing", Phase: ui.CallDone, At: w.clock.Now()})
	}
	w.top().keys.Restore.Off("Nothing was removed.")
	r.Send(uitest.Keys("#", "z", "esc"), uitest.Paste("rm"), uitest.Key("!"))
	r.Has("The feed is deaf.")
	r.HasNot("# does nothing here", "Nothing was removed.", "Nothing to go back to")
}

// What is wrong is said once: the title and the notice leave to the body what it says.
func TestOneErrorStandsOnce(t *testing.T) {
	w := newWorld()
	const said = "The service cannot be reached from here."
	r := w.start(t, w.options(ui.Test)).Send(uitest.Size(120, 30))
	w.top().problem = said
	r.Send(ui.Toast{Level: ui.Error, Text: said})
	if n := strings.Count(r.View(), "service cannot be reached"); n != 2 {
		t.Errorf("the title and the notice say it: %d times\n%s", n, r.View())
	}
	w.top().frame = "  Reload failed: " + said
	r.Send(uitest.Key("j"))
	r.Has("! reload failed")
	if n := strings.Count(r.View(), "service cannot be reached"); n != 1 {
		t.Errorf("it is shown %d times\n%s", n, r.View())
	}
}

// A hint about a key is shown where the key helps, and nowhere else.
func TestHintWhereItHelps(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Size(100, 30))
	here := w.top().Place()
	elsewhere := ui.Place{Kind: "elsewhere"}
	for name, c := range map[string]struct {
		hint ui.Hint
		want bool
	}{
		"it works here":              {ui.Hint{Text: "z restores it.", Works: here}, true},
		"it works on another screen": {ui.Hint{Text: "z restores it.", Works: elsewhere}, false},
		"it opens another screen":    {ui.Hint{Text: "z restores it.", Opens: elsewhere}, true},
		"it opens what is open":      {ui.Hint{Text: "z restores it.", Opens: here}, false},
		"it works everywhere":        {ui.Hint{Text: "z restores it."}, true},
		"there is none":              {ui.Hint{}, false},
	} {
		r.Send(ui.Toast{Level: ui.Success, Text: "Removed " + name + ".", Hint: c.hint})
		r.Has("Removed " + name + ".")
		if got := strings.Contains(r.View(), "z restores it."); got != c.want {
			t.Errorf("%s: hint shown: %t", name, got)
		}
		r.Send(w.clock.Wait(10 * time.Second))
	}
}
