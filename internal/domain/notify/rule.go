package notify

import (
	"slices"
	"time"

	"opdeck/internal/domain/verdict"
)

// When is the condition of a view.
type When string

// The conditions.
const (
	Matches When = "matches" // it has a row, after it had none
	Stays   When = "stays"   // it has had rows for the time For
	Missing When = "missing" // it has no row at the time By of a day
)

// Rule is one [notify.NAME].
type Rule struct {
	Name  string
	On    []Kind
	Min   verdict.Severity // of a cause
	For   time.Duration    // that a cause must last, or a view with Stays have rows
	After time.Duration    // from sending a write to the notice that it is in doubt
	View  string
	When  When
	By    time.Duration  // since midnight in Zone
	Zone  *time.Location // nil: UTC
}

func (r Rule) on(k Kind) bool { return slices.Contains(r.On, k) }

// Needs are the parts of an Observation that a list of rules uses.
type Needs struct {
	Requests, Doubts bool
	Views            []string
}

// NeedsOf returns what rules use beside the verdict.
func NeedsOf(rules []Rule) (n Needs) {
	for _, r := range rules {
		n.Requests = n.Requests || r.on(Approval) || r.on(Decision)
		n.Doubts = n.Doubts || r.on(Doubt)
		if r.on(View) && !slices.Contains(n.Views, r.View) {
			n.Views = append(n.Views, r.View)
		}
	}
	return n
}

// Observation is what one process sees now. A part that could not be read is not known.
type Observation struct {
	Scope         string // base_url and account
	Context       string
	Verdict       verdict.Verdict // At is the store's time
	Requests      []Request       // of the last day
	RequestsKnown bool
	Doubts        []InDoubt
	DoubtsKnown   bool
	Views         map[string]Rows // by name; a view that could not be read is missing
}

// Request is a request for approval.
type Request struct {
	ID, Act, Object, ObjectID string
	Requester                 string
	Decider                   string // "" while no one has decided
	Denied, Lapsed            bool
	Decided, Expires          time.Time
}

// InDoubt is a write without a known outcome.
type InDoubt struct {
	Ref, Act, Object, ObjectID string
	Sent                       time.Time
}

// Rows is what a view shows.
type Rows struct {
	Count int64
	// Sure: the index is complete and recent, so that a row that is not there does not exist.
	Sure bool
}
