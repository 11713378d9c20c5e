package ui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/keymap"
	"opdeck/ui/theme"
)

// Environment is what kind of service the console is on.
type Environment uint8

// The grounds.
const (
	Sandbox Environment = iota
	Test
	Production
)

// Word is the word that is always on screen.
func (g Environment) Word() string {
	switch g {
	case Production:
		return "PRODUCTION"
	case Test:
		return "TEST"
	}
	return "SANDBOX"
}

// About is what does not change while the console runs.
type About struct {
	Context     string // name of the config's context
	Environment Environment
	ReadOnly    bool
	Person      string // who; from the SSH key, or empty
	Role        string
	// Remote is the beginning of a command line that reaches this program over SSH:
	// "ssh -p 2222 ana@192.0.2.7"; empty on a local terminal. Files of the host are out
	// of reach where it is not.
	Remote string
	// SecondPerson: a write waits for the approval of another person.
	SecondPerson bool
	// Proxy carries the calls to the service, "" for none; without credentials.
	Proxy string
}

// Env is what a screen gets when it is made. Its fields do not change; Zone and
// Masked may, and DisplayChanged tells.
type Env struct {
	// Ctx ends when this screen is closed: the parent of its reads.
	Ctx context.Context
	// Root ends when the console leaves: the parent of writes. A write that has
	// not been sent is dropped then; one that was sent must be finished.
	Root  context.Context
	Now   func() time.Time
	Theme *theme.Theme
	Keys  *keymap.Map // copy your group; never switch keys in here
	About About

	filters FilterMemory // nil: none is kept
	id      screenID
	screen  Screen // nil until it is made
	shared  *display
}

type display struct {
	zone     *time.Location
	local    *time.Location
	masked   bool
	revealed time.Time // end of the present reveal; zero: none
	alone    bool      // lists show no preview beside them
}

func (d *display) hides() bool { return d.masked && d.revealed.IsZero() }

// Preview reports whether lists show what is under the cursor beside them.
func (e *Env) Preview() bool { return !e.shared.alone }

// SwitchPreview shows or hides the previews of all lists, and remembers that for the
// person.
func (e *Env) SwitchPreview() Action {
	return do(func(s *Shell) tea.Cmd {
		s.shown.alone = !s.shown.alone
		cmds := []tea.Cmd{s.broadcast(DisplayChanged{})}
		if keep, ctx, on := s.opt.KeepPreview, context.WithoutCancel(s.root), !s.shown.alone; keep != nil {
			cmds = append(cmds, func() tea.Msg { keep(ctx, on); return nil })
		}
		return tea.Batch(cmds...)
	})
}

// Zone is where times are shown: local or UTC.
func (e *Env) Zone() *time.Location { return e.shared.zone }

// Snapshot returns the environment as it is now, for drawing away from the loop: what
// the person switches later does not reach it.
func (e *Env) Snapshot() *Env {
	still, shown, th := *e, *e.shared, *e.Theme
	still.shared, still.Theme = &shown, &th
	return &still
}

// Masked reports whether account numbers and the like are drawn masked.
func (e *Env) Masked() bool { return e.shared.hides() }

// FilterMemory keeps the filters that the person in ctx typed, by kind of list. Its
// methods may wait.
type FilterMemory interface {
	// Filters are the last ones, the latest first.
	Filters(ctx context.Context, kind string) ([]string, error)
	KeepFilter(ctx context.Context, kind, text string) error
}

// Filters is where filters are kept; nil: nowhere.
func (e *Env) Filters() FilterMemory { return e.filters }

// Requests makes the counter of one kind of read of this screen.
func (e *Env) Requests() *Requests { return &Requests{env: e} }

// Ticket routes an answer that is never stale, a write's outcome, to this screen.
func (e *Env) Ticket() Ticket { return Ticket{screen: e.id, layer: layerOf(e.screen)} }

// Sooner returns the earlier of the times that are not zero.
func Sooner(times ...time.Time) time.Time {
	var out time.Time
	for _, t := range times {
		if !t.IsZero() && (out.IsZero() || t.Before(out)) {
			out = t
		}
	}
	return out
}
