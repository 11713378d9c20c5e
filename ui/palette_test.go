package ui_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
)

// known is a Finder that knows some operations and counts what it is asked.
type known struct {
	ids    []string
	opened []ui.Place
	recent []ui.Found
	asked  []string
}

func (k *known) Find(_ context.Context, q ui.Search) (ui.Finding, error) {
	typed := q.Text
	k.asked = append(k.asked, typed)
	out := ui.Finding{Whole: len(typed) == 36}
	for _, id := range k.ids {
		if strings.HasPrefix(id, typed) {
			out.Matches = append(out.Matches, ui.Found{Place: ui.Place{Kind: ui.KindOperation, ID: id}, Text: id, About: "PENDING  1.00 EUR"})
		}
	}
	if len(out.Matches) == 0 {
		out.Missing = "Nothing matches “" + typed + "”."
	}
	if len(out.Matches) == 1 {
		out.Only = out.Matches[0].Place.ID
	}
	if q.Customers && strings.HasPrefix("acme", typed) {
		out.Matches = append(out.Matches, ui.Found{Place: ui.Place{Kind: ui.KindCompliance, ID: "c-1"}, Text: "Acme Ltd", About: "customer c-1"})
	}
	return out, nil
}

func (k *known) Recent(context.Context) ([]ui.Found, error) { return k.recent, nil }

func (k *known) Opened(_ context.Context, p ui.Place) error {
	k.opened = append(k.opened, p)
	return nil
}

func newKnown() *known {
	return &known{ids: []string{"237f91db-a65d-4f18-a240-17ab808bf1b4", "237f0000-a65d-4f18-a240-17ab80801111", "62387cd9-6926-45b3-bf48-8a53f850c0b8"}}
}

// marked is what enter would do in the palette: the marked line.
func marked(t *testing.T, r *uitest.Run) string {
	t.Helper()
	for _, l := range strings.Split(r.View(), "\n") {
		if _, in, ok := strings.Cut(l, "│ "+theme.Unicode().Cursor+" "); ok {
			text, _, _ := strings.Cut(in, "│")
			return strings.Join(strings.Fields(text), " ")
		}
	}
	return ""
}

// TestPaletteWords holds what each word leads to first, from the list of operations:
// every word of the program's own, and nothing by scattered letters.
func TestPaletteWords(t *testing.T) {
	for typed, want := range map[string]string{
		"doctor": "session: doctor", "health": "session: doctor", "undo": "documents: restore", "hook": "events: settings",
		"login": "session: log in again", "renew": "session: refresh tokens", "theme": "theme dark", "theme l": "theme light", "theme dark": "theme dark",
		"codes": "events: codes", "ctx": "ctx prod", "ctx prod": "ctx prod", "context": "ctx prod", "prod": "ctx prod", "tail": "events: follow",
		"q": "quit", "quit": "quit", "exit": "quit", "kyc": "customers", "kyc customers": "customers", "customers": "customers", "verify": "customers",
		"verif": "verification of Tallinn Tools", "approv": "approvals", "approvals": "approvals", "pending": "view pending", "view": "view pending",
		"utc": "utc", "UTC": "utc", "local": "local time", "remove": "documents: remove", "rm": "documents: remove", "session refresh": "session: refresh tokens",
		"refresh session": "session: refresh tokens", "totals": "operations: totals", "audit ver": "audit: verify", "limits": "limits", "what is going": "activity",
		"237f91": "237f91db-a65d-4f18-a240-17ab808bf1b4", "acme": "Acme Ltd", "share": "compliance: share",
		"dctr": "", "kcy": "", "zzz": "",
	} {
		t.Run(typed, func(t *testing.T) {
			w := newWorld()
			o := w.options(ui.Test)
			o.Finder, o.Contexts = newKnown(), []ui.About{{Context: "prod", Environment: ui.Production}}
			o.Themes = func(string) *theme.Theme { return nil }
			w.commands = []ui.Command{{Title: "view pending", About: "status:PENDING", Words: []string{"pending"}}}
			o.Commands = func() []ui.Command {
				return []ui.Command{{Title: "approvals"}, {Title: "verification of Tallinn Tools", About: "started, not finalized"}}
			}
			r := uitest.Drive(t, ui.New(o), uitest.Size(120, 40))
			w.top().keysFor = func(k *keymap.Map) []keymap.Key { return keymap.All(k.Nav) }
			r.Send(uitest.Key(":"), uitest.Type(typed))
			if got := marked(t, r); got != want && !strings.HasPrefix(got, want+" ") || want == "" && got != "" {
				t.Errorf("%q leads to %q, want %q\n%s", typed, got, want, r.View())
			}
		})
	}
}

// TestPaletteDoes does what its entries say.
func TestPaletteDoes(t *testing.T) {
	start := func(t *testing.T) (*world, *uitest.Run, *known) {
		w, k := newWorld(), newKnown()
		o := w.options(ui.Test)
		o.Finder, o.Contexts = k, []ui.About{{Context: "prod", Environment: ui.Production}}
		o.Themes = func(string) *theme.Theme { return theme.New(uitest.Renderer(0), theme.Day()) }
		return w, w.start(t, o), k
	}
	type check func(t *testing.T, w *world, r *uitest.Run)
	sees := func(parts ...string) check {
		return func(t *testing.T, _ *world, r *uitest.Run) { r.Has(parts...) }
	}
	for typed, c := range map[string]check{
		"quit": func(t *testing.T, _ *world, r *uitest.Run) {
			if !r.Quit {
				t.Error("it does not leave")
			}
		},
		"ctx prod": func(t *testing.T, _ *world, r *uitest.Run) {
			if got := r.Model.(*ui.Shell).NextContext(); got != "prod" || !r.Quit {
				t.Errorf("next is %q, left %v", got, r.Quit)
			}
		},
		"utc": sees("Times are now in UTC."), "theme light": sees("Theme light, saved for you."), "limits": sees("› Limits"), "customers": sees("› Compliance"),
		"62387": sees("Operation 62387cd9"), "acme": sees("Compliance c-1"), "remove": sees("Remove document", "[ No ]"),
		"session: doctor": sees("Session", "pressed D"), "audit: approve": sees("› Audit", "+: approve this write"),
	} {
		t.Run(typed, func(t *testing.T) {
			w, r, _ := start(t)
			w.pressed = true
			r.Send(uitest.Key(":"), uitest.Type(typed), uitest.Key("enter"))
			c(t, w, r)
		})
	}
}

// TestPaletteHeight: it is as high as the window allows, and says when more follow.
func TestPaletteHeight(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Size(100, 110), uitest.Key(":"))
	all := strings.Count(r.View(), "│")
	r.HasNot("more follow")
	r.Send(uitest.Size(100, 24))
	r.Has("more follow")
	if few := strings.Count(r.View(), "│"); few >= all || few < 30 {
		t.Errorf("%d frame cells in 24 lines, %d in 110", few, all)
	}
	r.Send(uitest.Size(20, 5))
}

// TestOpenerCallsNothing: a beginning that only one operation has opens it without any
// call but the screen's own; several are a list to choose from; recents come first.
func TestOpenerCallsNothing(t *testing.T) {
	w, k := newWorld(), newKnown()
	k.recent = []ui.Found{{Place: ui.Place{Kind: ui.KindOperation, ID: k.ids[2]}, Text: "62387c…50c0b8", About: "seen before"}}
	o := w.options(ui.Test)
	o.Finder = k
	r := w.start(t, o).Send(uitest.Key("o"))
	r.Has("Recently opened", "62387c…50c0b8", "seen before")
	reads := w.reads
	r.Send(uitest.Type("237f91"))
	r.Has("237f91db-a65d", "PENDING")
	if w.reads != reads {
		t.Errorf("%d reads while it is typed", w.reads-reads)
	}
	r.Send(uitest.Key("enter"))
	if p := w.top().place; p != (ui.Place{Kind: ui.KindOperation, ID: k.ids[0]}) {
		t.Errorf("opened %v", p)
	}
	r.Send(uitest.Key("o"), uitest.Type("237f"), uitest.Key("enter"))
	r.Has("Several matches", "237f0000")
	r.Send(uitest.Keys("down", "enter"))
	if p := w.top().place; p.ID != k.ids[1] {
		t.Errorf("opened %v", p)
	}
	n := len(w.opened)
	r.Send(uitest.Key("o"), uitest.Type("zzz"), uitest.Key("enter"))
	r.Has("No operation in the local index matches “zzz”")
	if len(w.opened) != n {
		t.Errorf("what nobody knows was opened: %v", w.opened[n:])
	}
	r.Send(uitest.Key("esc"), uitest.Key("o"), uitest.Paste(" 00000000-0000-4000-8000-000000000000\n"))
	r.Has("ask the service: one billing call")
	r.Send(uitest.Key("enter"))
	if p := w.top().place; p.ID != "00000000-0000-4000-8000-000000000000" {
		t.Errorf("opened %v", p)
	}
	want := []ui.Place{{Kind: ui.KindDocuments, ID: "7f3a"}, {Kind: ui.KindOperation, ID: k.ids[0]}, {Kind: ui.KindOperation, ID: k.ids[1]}, w.top().place}
	if !slices.Equal(k.opened, want) {
		t.Errorf("remembered %v, want %v", k.opened, want)
	}
}

// TestOpenerOffersOnlyMatches: for a text that nothing matches it says so, with the words that nothing has; several
// matches lead to their list.
func TestOpenerOffersOnlyMatches(t *testing.T) {
	w := newWorld()
	o := w.options(ui.Test)
	o.Finder = newKnown()
	r := w.start(t, o).Send(uitest.Key("o"), uitest.Type("237zz"))
	r.Has("No operation in the local index matches “237zz”. Nothing matches “237zz”.")
	r.Send(uitest.Key("backspace"), uitest.Key("backspace"), uitest.Type("f"))
	r.Has("› 237f", "237f91db-a65d", "237f0000-a65d", "All")
	r.Send(uitest.Keys("down", "down", "down", "enter"))
	if p := w.top().place; p != (ui.Place{Kind: ui.KindOperations, Arg: "237f"}) {
		t.Errorf("opened %v", p)
	}
	r.Send(uitest.Key("o"), uitest.Type("oak iron"))
	r.Has("› oak iron")
}

// TestPressAwaitsTheScreen: a key of another screen is pressed when that has read what
// it shows, unless the person pressed another one meanwhile.
func TestPressAwaitsTheScreen(t *testing.T) {
	for _, patient := range []bool{true, false} {
		w := newWorld()
		w.slow, w.pressed = time.Second, true
		r := w.start(t, w.options(ui.Test)).Send(w.clock.Wait(2*time.Second), uitest.Key(":"), uitest.Type("session: doctor"), uitest.Key("enter"))
		r.HasNot("pressed D")
		if !patient {
			r.Send(uitest.Key("j"))
		}
		r.Send(w.clock.Wait(2 * time.Second))
		if got := strings.Contains(r.View(), "pressed D"); got != patient {
			t.Errorf("patient %v: pressed %v", patient, got)
		}
	}
}
