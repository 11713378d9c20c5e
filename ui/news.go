package ui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/verdict"
)

// BroadcastMsg is a message for every open screen: an operation that changed, the
// session, the budgets, the feed. Embed Broadcast to make one.
type BroadcastMsg interface{ isNews() }

// Broadcast makes the message that embeds it News.
type Broadcast struct{}

func (Broadcast) isNews() {}

// BatchMsg is several messages from one command, delivered in order, such as the answer for
// the screen and the news for all screens.
type BatchMsg []tea.Msg

// StreamMsg is a message from a stream together with the command that waits for the
// next one. The shell delivers Msg and runs Next.
type StreamMsg struct {
	Msg  tea.Msg
	Next tea.Cmd
}

// Changed reports the new state of an object to every open screen.
type Changed struct {
	Broadcast
	// Kind is KindOperation, KindCompliance (a customer), KindEvents, KindAudit; or
	// KindOperations without an ID when the local index changed.
	Kind   string
	ID     string
	Object any // the new state, if the sender has it (api.Operation)
	Origin string
}

// SessionFacts are the facts of the shared session in the header.
type SessionFacts struct {
	Broadcast
	State       string // live, none, rotating, doubtful, revoked, blocked
	AccessUntil time.Time
}

// BudgetFacts are the free calls of one budget class, for all instances together.
type BudgetFacts struct {
	Broadcast
	Class       string    // login, refresh, account, customer, billing, general
	Room, Limit int       // free calls in this minute, and the limit
	NextSlot    time.Time // when a person's next call can be sent; zero: now
	Goes        time.Time // when the first waiting call is sent; zero: none waits
	Throttled   int       // 429 answers in the last minute
}

// CallPhase is the phase of a call.
type CallPhase uint8

// The phases of a call.
const (
	CallWaits CallPhase = iota // for a slot in its budget, or for the session
	CallRuns
	CallDone
	CallFailed
	CallUnknown // sent, no answer
)

// CallFacts is one line of the activity list. Facts with the same ID replace
// each other.
type CallFacts struct {
	Broadcast
	ID    string
	What  string // "GET operation", one safe line without secrets
	Class string
	Phase CallPhase
	Write bool
	// Background is true if no person waits for the call.
	Background bool
	At         time.Time // when the phase began
	Note       string    // one safe line: the error
	Moved      int64     // bytes transferred so far of a large request or answer body
	Size       int64     // of that body; 0: not known
}

// DisplayChanged is sent after a change of time zone or masking. Screens that cache
// drawn text must draw it again.
type DisplayChanged struct{ Broadcast }

// Toast is a notice from outside the stack: a colleague asks for an approval, or an
// earlier job is interrupted.
type Toast struct {
	Broadcast
	Level Level
	Text  string // one safe line
	// Each replaces Text in the activity list if Text names several things.
	Each []string
	// About is the finding that Text says; it is not shown above a screen that prints the finding.
	About *verdict.Finding
	Hint  Hint
}

// Presence lists the other people on a place. The header shows it while the
// person is on that place.
type Presence struct {
	Broadcast
	At     Place
	Others []Colleague
}

// Colleague is another person on the same place.
type Colleague struct {
	Name   string // safe
	Asking bool   // a question about a write is open
}

// String returns the name for the header, with a "?" while that person has an open question.
func (p Colleague) String() string {
	if p.Asking {
		return p.Name + "?"
	}
	return p.Name
}

// Approvals are the requests that concern this person. The header shows Waiting on
// every screen while it is not 0.
type Approvals struct {
	Broadcast
	Waiting int          // writes of others that this person may approve
	Mine    []AskedWrite // writes of this person that wait, can be sent now, or were denied
}

// AskedWrite is a write for which this person asked a second person, until its time is over.
type AskedWrite struct {
	Act      api.ActKind
	ID, Item string // of the object, and of what changes in it
	Reason   string // as it was given
	State    approval.State
	By       string // who decided; safe
	Until    time.Time
}
