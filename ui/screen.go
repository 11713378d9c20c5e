package ui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/keymap"
)

// Screen is one place of the console. All methods are called in the update
// loop, so a screen needs no locks. None of them may wait or send
// requests; requests belong into the tea.Cmd.
type Screen interface {
	// Init returns the first load and must not load in its body. Update handles a tea.WindowSizeMsg
	// with the size of the body (before Init and after each change), a key (keymap.Press), an
	// answer to a read of this screen, News, Shown or Tick; then the shell performs its Action.
	// View draws exactly that size: h lines of at most w cells. It changes nothing; Update
	// lays out the lines.
	// If the screen has a method Lines() []string, the shell calls that instead of View:
	// lines that are the same strings in the next frame cost nothing.
	Model
	// Keys lists the keys of the screen: the hint line, the help, the palette and
	// the "why off" answers are made from it.
	Keys() []keymap.Key
	// Editing reports that printable keys are text: the shell then handles only ctrl+c.
	Editing() bool
	// Title returns one short line of safe text for breadcrumbs and header.
	Title() string
	// Place returns the screen's place; the Factory can make an equal screen from it.
	Place() Place
	// Source returns age and origin of the data, and the cost of a reload.
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

// Kinds of places without a number key.
const (
	KindHistory = "history" // the timeline of one operation
	KindOnCall  = "oncall"  // session, budgets, feed, index and writes in doubt
)

// Place identifies a screen by its kind and object. It is comparable.
type Place struct {
	Kind string // one of the Kind constants, or a kind the factory knows
	ID   string // operation, customer, hook… id as the service wrote it; empty for lists
	Arg  string // another argument of the factory: a view's name, a filter
}

// Factory creates the screen of a place. env belongs to that screen alone. A nil
// result means that the place is unknown; the shell shows this.
type Factory func(env *Env, p Place) Screen

// Source describes the origin and age of the shown data.
type Source struct {
	Origin  string    // "service", "index", "events", "this console"; empty: nothing loaded yet
	At      time.Time // when it was true; of rows, when the newest one was seen; zero: not known
	Oldest  time.Time // of rows, when the oldest one that the screen uses was seen; zero: as At
	Class   string    // budget class of a reload ("billing"); "": a reload costs no call
	Loading bool      // a read is running
	Problem string    // why the data is old ("service not reached"); one safe line, "" for none
}

// Ticker is implemented by screens whose text changes with time
// (a countdown, an age). NextTick returns the time of the next change (use
// Sooner with format.Until and format.Ago), or zero. The shell then sends
// Tick and draws again; there is no other clock.
type Ticker interface{ NextTick(now time.Time) time.Time }

// Drawn describes the parts of a screen that the shell must not repeat or cover.
type Drawn struct {
	Problem bool  // one of its lines shows Source.Problem
	Cursors []int // the lines with a cursor, from 0
}

// Drawer is implemented by screens that report Drawn; Page and list.List do.
type Drawer interface{ Drawn() Drawn }

// HelpTopic is implemented by screens that explain more than their keys, such as their filter
// language. HelpTopic returns safe, unstyled lines for the help and their title.
type HelpTopic interface {
	HelpTopic() (title string, lines []string)
}

// UnsavedText is implemented by screens that may have typed text. Unsaved names the text that
// would be lost ("the filter you typed"), or returns "". The shell asks before it closes such a screen.
type UnsavedText interface{ Unsaved() string }

// SubjectOf returns the object of a screen or under its cursor, so that
// the keys 2, 3 and 4 open it: kind is KindOperation or KindCompliance (a
// customer), or "" for none.
type SubjectOf interface{ Subject(kind string) string }

// Commander adds commands without keys to the palette: those of the screen on top, and
// those of screens below it, which the shell brings to the top before it runs the command.
type Commander interface{ Commands() []Command }

// Command is an entry of the palette. All its texts are safe.
type Command struct {
	Title string   // "view pending-eur"
	About string   // a sentence behind it; may be empty
	Words []string // other names that find it: "pending-eur"
	Why   string   // the reason why it is off; "": it is on
	Do    Action
	Run   func() (Action, tea.Cmd) // used instead of Do by screens; nil: Do
}

// action returns the command's action.
func (c Command) action() (Action, tea.Cmd) {
	if c.Run != nil {
		return c.Run()
	}
	return c.Do, nil
}

// Tick is sent to the screen on top at the time of its NextTick.
type Tick struct{}

// Shown is sent to a screen that comes to the top again, so that it can check the age of
// its data.
type Shown struct{}
