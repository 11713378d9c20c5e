package ui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/keymap"
)

// Screen is one place of the console. All methods are called from the one
// update loop, so a screen needs no locks; none of them may wait or send
// anything: what may travel goes into the tea.Cmd.
type Screen interface {
	// Init returns the first load and must not load in its body. Update takes a tea.WindowSizeMsg
	// with the size of the body (before Init and whenever it changes), a key (keymap.Press), an
	// answer to this screen's question, News, Shown or Tick; the shell does what it wants then.
	// View draws exactly that size: h lines of at most w cells. It changes nothing: what it draws
	// was laid out by Update.
	// A screen that has a method Lines() []string too is asked for that instead:
	// lines that stay the same strings from frame to frame cost nothing.
	Model
	// Keys lists the keys of the screen: the hint line, the help, the palette and
	// the "why off" answers are made from it.
	Keys() []keymap.Key
	// Editing reports that printable keys are text now: the shell then takes none but ctrl+c.
	Editing() bool
	// Title is one short line of safe text for breadcrumbs and header.
	Title() string
	// Place is where this is; Factory can make an equal screen from it.
	Place() Place
	// Source tells age and origin of what is shown, and what a reload costs.
	Source() Source
}

// The kinds of places behind the keys 1 to 8.
const (
	KindOperations = "operations"
	KindOperation  = "operation"
	KindDocuments  = "documents"
	KindCompliance = "compliance"
	KindLimits     = "limits"
	KindSession    = "session"
	KindEvents     = "events"
	KindAudit      = "audit"
)

// Kinds of places that no number leads to.
const (
	KindHistory = "history" // the timeline of one operation
	KindOnCall  = "oncall"  // session, budgets, feed, index and writes in doubt
)

// Place names a screen: what it is of, and of which object. It is comparable.
type Place struct {
	Kind string // one of the Kind constants, or a kind the factory knows
	ID   string // operation, customer, hook… id as the service wrote it; empty for lists
	Arg  string // what else the factory needs: a view's name, a filter
}

// Factory makes the screen of a place. env belongs to that screen alone. A nil
// result means that the place is unknown; the shell says so.
type Factory func(env *Env, p Place) Screen

// Source is where the shown data came from.
type Source struct {
	Origin  string    // "service", "index", "events", "this console"; empty: nothing loaded yet
	At      time.Time // when it was true; of rows, when the newest one was seen; zero: unknown
	Oldest  time.Time // of rows, when the oldest one was seen that the screen rests on; zero: as At
	Class   string    // budget class that a reload costs ("billing"); empty: costs nothing
	Loading bool      // a read is on its way
	Problem string    // why the data is old ("service not reached"); one safe line, empty when fine
}

// Ticker is for screens that show something that changes by time alone
// (a countdown, an age). NextTick returns when the drawn text changes next (use
// Sooner with format.Until and format.Ago); zero when nothing counts. The shell sends
// Tick and draws again then; there is no other clock.
type Ticker interface{ NextTick(now time.Time) time.Time }

// Drawn is what a screen draws now that lines of the shell must not repeat or cover.
type Drawn struct {
	Problem bool  // one of its lines says Source.Problem
	Cursors []int // the lines that a cursor is on, from 0
}

// Drawer is for screens that say what they draw; Page and list.List do.
type Drawer interface{ Drawn() Drawn }

// HelpTopic is for screens that have more to explain than their keys, as the language
// of their filter. HelpTopic returns safe, unstyled lines for the help and their title.
type HelpTopic interface {
	HelpTopic() (title string, lines []string)
}

// UnsavedText is for screens that may hold typed text. Unsaved names what
// would be lost ("the filter you typed"), or is "". The shell asks before it closes such a screen.
type UnsavedText interface{ Unsaved() string }

// SubjectOf names the object a screen is about or has under the cursor, so that
// the keys 2, 3 and 4 open it: kind is KindOperation or KindCompliance (a
// customer). Empty when there is none.
type SubjectOf interface{ Subject(kind string) string }

// Commander adds commands without keys to the palette: those of the screen on top, and
// those of screens below it, which come to the top before the command is done.
type Commander interface{ Commands() []Command }

// Command is an entry of the palette. All its texts are safe.
type Command struct {
	Title string   // "view pending-eur"
	About string   // a sentence behind it; may be empty
	Words []string // other names that find it: "pending-eur"
	Why   string   // not empty: shown as off, for this reason
	Do    Action
	Run   func() (Action, tea.Cmd) // instead of Do, for what the screen does itself; nil: Do
}

// action is what the command does.
func (c Command) action() (Action, tea.Cmd) {
	if c.Run != nil {
		return c.Run()
	}
	return c.Do, nil
}

// Tick is sent to the screen on top when the time of its Counts has come.
type Tick struct{}

// Shown is sent to a screen that comes to the top again: a good moment to look
// whether what it shows is still fresh enough.
type Shown struct{}
