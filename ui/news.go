package ui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
)

// BroadcastMsg is a message for every open screen: an operation that changed, the
// session, the budgets, the feed. Embed Broadcast to make one.
type BroadcastMsg interface{ isNews() }

// Broadcast makes the message that embeds it News.
type Broadcast struct{}

func (Broadcast) isNews() {}

// BatchMsg is several messages from one command, delivered in order: the answer to
// the screen and the news to everybody, for instance.
type BatchMsg []tea.Msg

// StreamMsg is a message from a stream together with the command that waits for the
// next one. The shell delivers Msg and runs Next.
type StreamMsg struct {
	Msg  tea.Msg
	Next tea.Cmd
}

// Changed says that an object has a new state: every open screen sees it.
type Changed struct {
	Broadcast
	// Kind is KindOperation, KindCompliance (a customer), KindEvents, KindAudit; or
	// KindOperations without an ID when the local index changed.
	Kind   string
	ID     string
	Object any // the new state, when the teller has it (api.Operation)
	Origin string
}

// SessionFacts is what the header shows of the one session.
type SessionFacts struct {
	Broadcast
	State       string // live, none, rotating, doubtful, dead, blocked
	AccessUntil time.Time
	Note        string // one safe line: why it is not live
}

// BudgetFacts is the room in one budget class, all instances together.
type BudgetFacts struct {
	Broadcast
	Class       string    // login, refresh, account, customer, billing, general
	Room, Limit int       // calls left in this minute, of how many
	NextSlot    time.Time // when a further call of a person may go; zero: now
	Goes        time.Time // when the first of the waiting calls goes; zero: none waits
	Throttled   int       // 429 answers in the last minute
}

// FeedFacts reports whether news of the service arrive.
type FeedFacts struct {
	Broadcast
	State    string // "off", "live", "quiet", "stalled"
	Rejected int64  // deliveries that were not accepted, all in all; 0 when none was lately
	Waiting  int64  // events that could not be merged into the index yet
}

// CallPhase is where a call is.
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
	// Background: no person waits for it.
	Background bool
	At         time.Time // when the phase began
	Note       string    // one safe line: the error
	Moved      int64     // bytes of a large body so far, of what a write sends or a read answers
	Size       int64     // of that body; 0: not told
}

// DisplayChanged is sent when local/UTC or masking changed: screens that keep
// drawn text draw it again.
type DisplayChanged struct{ Broadcast }

// Toast is a notice from outside the screens: somebody asks for an approval, a
// job of yesterday stands still.
type Toast struct {
	Broadcast
	Level Level
	Text  string // one safe line
	// Each is what the activity keeps in place of Text, when that names several things.
	Each []string
}

// Presence says who else is at a place. It is shown in the header while the
// person is there too.
type Presence struct {
	Broadcast
	At     Place
	Others []Person
}

// Person is somebody else who is there.
type Person struct {
	Name   string // safe
	Asking bool   // a question about a write is open
}

// String is the name as the header shows it, with a "?" while the person is asked.
func (p Person) String() string {
	if p.Asking {
		return p.Name + "?"
	}
	return p.Name
}

// Approvals are the requests that matter to this person. The header shows Waiting on
// every screen while it is not 0.
type Approvals struct {
	Broadcast
	Waiting  int             // writes of others that this person may approve
	Approved []ApprovedWrite // writes of this person that can be sent now
}

// ApprovedWrite is a write that a second person approved and that was not sent yet.
type ApprovedWrite struct {
	Act      api.ActKind
	ID, Item string // of the object, and of what changes in it
	By       string // safe
	Until    time.Time
}
