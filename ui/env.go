package ui

import (
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/evidence"
	"opdeck/internal/domain/verdict"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
)

// Environment is the kind of service that the console uses.
type Environment uint8

// The environments.
const (
	Sandbox Environment = iota
	Test
	Production
)

// Word is the word for the environment, which is always on screen.
func (g Environment) Word() string {
	switch g {
	case Production:
		return "PRODUCTION"
	case Test:
		return "TEST"
	}
	return "SANDBOX"
}

// About holds facts that do not change while the console runs.
type About struct {
	Context     string // name of the config's context
	Environment Environment
	ReadOnly    bool
	Person      string // who; from the SSH key, or empty
	Role        string
	// Remote is the start of a command line that runs this program over SSH:
	// "ssh -p 2222 ana@192.0.2.7"; "" on a local terminal. Over SSH the person cannot
	// use files of the host.
	Remote string
	// SecondPerson: a write waits for the approval of another person.
	SecondPerson bool
	// Proxy is the proxy for calls to the service, without credentials; "" for none.
	Proxy string
}

// Env is the environment of one screen, from its creation on. Its fields do not change; Zone and
// Masked may, and the shell then sends DisplayChanged.
type Env struct {
	// Ctx ends when this screen is closed: the parent of its reads.
	Ctx context.Context
	// Root ends when the console exits: the parent of writes. The shell then drops a write
	// that was not sent; one that was sent must finish.
	Root  context.Context
	Now   func() time.Time
	Theme *theme.Theme
	Keys  *keymap.Map // copy your group; never switch keys off in this map
	About About

	filters FilterMemory
	id      screenID
	screen  Screen // nil until it is made
	shared  *display
}

type display struct {
	zone     *time.Location
	local    *time.Location
	masked   bool
	revealed time.Time // end of the current reveal; zero: none
	alone    bool      // lists show no preview

	found       VerdictFacts // the newest
	reading     bool         // a read of it was begun
	readVerdict func(context.Context) verdict.Verdict
}

func (d *display) hides() bool { return d.masked && d.revealed.IsZero() }

// Preview reports whether lists show a preview of the row under the cursor.
func (e *Env) Preview() bool { return !e.shared.alone }

// SwitchPreview shows or hides the previews of all lists, and saves the choice for the
// person.
func (e *Env) SwitchPreview() Action {
	return do(func(s *Shell) tea.Cmd {
		s.win.shown.alone = !s.win.shown.alone
		cmds := []tea.Cmd{s.route.broadcast(DisplayChanged{})}
		if keep, ctx, on := s.win.opt.KeepPreview, context.WithoutCancel(s.win.root), !s.win.shown.alone; keep != nil {
			cmds = append(cmds, func() tea.Msg { keep(ctx, on); return nil })
		}
		return tea.Batch(cmds...)
	})
}

// Proven is the sentence about a write on an object that is done. If only a read shows that, it says so, and until when
// a request without an answer may still arrive.
func (e *Env) Proven(object, done string) string {
	if c, byRead := evidence.Of(e.Root).ByRead(object); byRead {
		done = strings.TrimSpace("A read confirms: " + done + " " + c.Missing())
	}
	return done
}

// Zone returns the time zone of shown times: local or UTC.
func (e *Env) Zone() *time.Location { return e.shared.zone }

// Snapshot returns a copy of the environment for drawing outside the update loop. Later
// changes by the person do not affect it.
func (e *Env) Snapshot() *Env {
	still, shown, th := *e, *e.shared, *e.Theme
	still.shared, still.Theme = &shown, &th
	return &still
}

// Masked reports whether account numbers and the like are drawn masked.
func (e *Env) Masked() bool { return e.shared.hides() }

// FilterMemory keeps the filters that the person in ctx typed, by kind of list. Its functions may wait.
type FilterMemory struct {
	Last func(ctx context.Context, kind string) ([]string, error) // newest first; nil: none is kept
	Keep func(ctx context.Context, kind, text string) error
}

// Filters returns the store of filters.
func (e *Env) Filters() FilterMemory { return e.filters }

// Requests returns the counter of one kind of read of this screen.
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
