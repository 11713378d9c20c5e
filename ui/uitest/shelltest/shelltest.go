// Package shelltest puts one screen into a real shell for its tests.
//
//	clock := uitest.NewClock()
//	r := shelltest.Open(t, clock, factory, ui.Place{Kind: ui.KindDocuments, ID: "7f3a"}, shelltest.Production)
//	r.Send(uitest.Key("x"), clock.Wait(shelltest.Armed), uitest.Key("y"))
//	golden.RequireEqual(t, r.View())
package shelltest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/aymanbagabas/go-osc52/v2"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"opdeck/internal/act"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/domain/verdict/verdicttest"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
)

// Armed is the time after which a question takes keys.
const Armed = 400 * time.Millisecond

// Option changes the shell that Open makes.
type Option func(*ui.Options)

// Production makes the context a production one.
func Production(o *ui.Options) { o.About.Environment = ui.Production }

// ReadOnly makes the context read-only.
func ReadOnly(o *ui.Options) { o.About.ReadOnly = true }

// Unmasked shows account numbers.
func Unmasked(o *ui.Options) { o.Mask = false }

// Found makes f what is known.
func Found(f verdict.Facts) Option {
	return func(o *ui.Options) {
		o.Verdict = func(context.Context) verdict.Verdict { return verdict.Conclude(f) }
	}
}

// Dark draws in the dark theme, 24 bit; without it frames hold no colours.
func Dark(o *ui.Options) {
	o.Theme = theme.New(uitest.Renderer(termenv.TrueColor), theme.Night())
}

// Copies appends what is copied to to.
func Copies(to *[]string) Option {
	return func(o *ui.Options) {
		o.Copy = func(text []osc52.Sequence) error {
			for _, s := range text {
				*to = append(*to, s.String())
			}
			return nil
		}
	}
}

// Options are those of a test context called "stage" at UTC without colours.
func Options(clock *uitest.Clock, make ui.Factory, start ui.Place, opts ...Option) ui.Options {
	o := ui.Options{
		About: ui.About{Context: "stage", Environment: ui.Test, Person: "ana", Role: "operator"},
		Theme: theme.New(uitest.Renderer(termenv.Ascii), theme.Mono()),
		Make:  make, Start: start, Local: time.UTC, Mask: true,
		Copy: func([]osc52.Sequence) error { return nil },
		Now:  clock.Now, Tick: clock.Tick,
		Verdict: func(context.Context) verdict.Verdict { return verdict.Conclude(verdicttest.Live()) },
	}
	for _, f := range opts {
		f(&o)
	}
	return Complete(o)
}

// Complete gives options that are missing a function that does nothing.
func Complete(o ui.Options) ui.Options {
	if o.Finder == nil {
		o.Finder = noIndex{}
	}
	if o.Commands == nil {
		o.Commands = func() []ui.Command { return nil }
	}
	if o.Reveal == nil {
		o.Reveal = func(context.Context, ui.Place) error { return nil }
	}
	if o.OnPlace == nil {
		o.OnPlace = func(ui.At) {}
	}
	if o.OnBarred == nil {
		o.OnBarred = func(*act.Act, ui.Place) tea.Cmd { return nil }
	}
	if o.KeepPreview == nil {
		o.KeepPreview = func(context.Context, bool) {}
	}
	if o.KeepTheme == nil {
		o.KeepTheme = func(context.Context, string) error { return nil }
	}
	return o
}

// noIndex knows no object; a whole id can be asked for.
type noIndex struct{}

func (noIndex) Find(_ context.Context, q ui.Search) (ui.Finding, error) {
	if err := ui.CheckID(q.Text); err != nil {
		return ui.Finding{Wrong: "Not a valid id: " + err.Error() + "."}, nil
	}
	return ui.Finding{Whole: true}, nil
}

func (noIndex) Recent(context.Context) ([]ui.Found, error) { return nil, nil }
func (noIndex) Opened(context.Context, ui.Place) error     { return nil }

// Open starts a shell on a place in a window of 80x24.
func Open(t testing.TB, clock *uitest.Clock, make ui.Factory, start ui.Place, opts ...Option) *uitest.Run {
	t.Helper()
	return uitest.Drive(t, ui.New(Options(clock, make, start, opts...)), uitest.Size(80, 24))
}

// HoldAnswers keeps back what the service answers from now on, until r.Release: the person
// continues meanwhile.
func HoldAnswers(r *uitest.Run) {
	r.Hold(func(m tea.Msg) bool { _, answer := m.(ui.Answer); return answer })
}

// Sizes resizes the window through sizes from 1x1 to 300x100 and back to 80x24;
// each frame is checked, and a size looks the same whatever the sizes before it were.
func Sizes(r *uitest.Run) {
	for h := 1; h <= 100; h += 1 + h/6 {
		for w := 1; w <= 300; w += 1 + w/10 {
			r.Send(uitest.Size(w, h))
		}
	}
	for _, z := range [][2]int{{200, 60}, {160, 45}, {80, 24}} {
		r.Send(uitest.Size(z[0], z[1]))
		want := r.View()
		r.Send(uitest.Size(300, 100), uitest.Size(z[0]+1, z[1]), uitest.Size(z[0], z[1]))
		r.Same(want)
	}
}

// Drawn are the windows that a state of a screen has golden files for: a small one, and for the states among wide a
// large one too. What a record says at all is in the golden files of its presenter.
func Drawn(state string, wide ...string) map[string][2]int {
	out := map[string][2]int{"80x24": {80, 24}}
	if slices.Contains(wide, state) {
		out["120x40"] = [2]int{120, 40}
	}
	return out
}

// PressAll presses every key that the console knows and draws after each, but
// runs no command: whatever reaches a fake service was sent by Update, View or
// Init themselves. Give it a fresh factory and look at the fake afterwards.
func PressAll(clock *uitest.Clock, make ui.Factory, start ui.Place, answers ...tea.Msg) {
	m := tea.Model(ui.New(Options(clock, make, start)))
	m.Init()
	m, _ = m.Update(uitest.Size(80, 24))
	for _, a := range answers {
		m, _ = m.Update(a)
	}
	keys := keymap.New()
	for _, k := range keymap.Join(keys.Nav, keys.List, keys.Item, keys.Operations, keys.Operation, keys.Related,
		keys.Documents, keys.Compliance,
		keys.Session, keys.Events, keys.Audit, keys.Global) {
		if k.Name == keys.Global.Leave.Name {
			continue
		}
		m, _ = m.Update(k.Msg())
		_ = m.View()
		m, _ = m.Update(keymap.Parse("esc"))
		_ = m.View()
	}
}
