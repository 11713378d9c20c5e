package notify

import (
	"context"
	"time"
)

// Silence keeps the notices of a rule from being sent.
type Silence struct {
	Until time.Time `json:"until"` // the store's time
	By    string    `json:"by"`    // the person, safe to draw
	At    time.Time `json:"at"`
}

// Active reports whether it holds at now.
func (s Silence) Active(now time.Time) bool {
	return now.Before(s.Until) && !s.Until.After(now.Add(SilenceMost))
}

// SilenceMost is the longest silence.
const SilenceMost = 30 * 24 * time.Hour

// Shared is what all instances know of a rule.
type Shared struct {
	State   State
	Silence Silence // the zero Silence for none
}

// Delivery is a claimed notice.
type Delivery struct {
	Notice  Notice
	Attempt int // 1: the first
}

// Outcome is the outcome of an attempt.
type Outcome struct {
	Delivered bool
	Error     string        // safe to draw; "" if delivered
	Retry     time.Duration // until the next attempt; 0: no more
}

// Phase is where a notice is.
type Phase string

// The phases.
const (
	Waiting  Phase = "waiting" // for its first attempt, or the next one
	Sending  Phase = "sending" // claimed
	Sent     Phase = "sent"
	Failed   Phase = "failed"   // given up
	Silenced Phase = "silenced" // never sent
)

// Kept is one notice for notify list.
type Kept struct {
	Notice   Notice    `json:"notice"`
	Phase    Phase     `json:"phase"`
	Attempts int       `json:"attempts"`
	Ended    time.Time `json:"ended,omitzero"`
	Error    string    `json:"error,omitempty"` // of the last attempt
}

// Summary is what the store has of a rule.
type Summary struct {
	Silence Silence
	Phases  map[Phase]int
	Newest  []Kept // newest first, at most 20
}

// How notices are kept and sent.
const (
	NoticesKept = 30 * 24 * time.Hour // after their end
	Lease       = time.Minute         // of a claim; SendTimeout is shorter
	SendTimeout = 20 * time.Second    // of an attempt
	RetryFirst  = 5 * time.Second     // doubles with each attempt
	RetryMost   = 5 * time.Minute
	GiveUp      = 6 * time.Hour // after the notice was made
)

// Store keeps the rules of an account. All times are the store's.
type Store interface {
	// Shared returns what is known of the rules that any instance has looked at, by name, and the time.
	Shared(ctx context.Context, scope string) (map[string]Shared, time.Time, error)
	// Update calls change in one transaction, which excludes every other Update of the rule, with its state and whether
	// it is silenced. It stores the state and adds the notices, the silenced ones as such; one with a known ID is not
	// added. If changed is false it stores nothing.
	Update(ctx context.Context, scope, rule string,
		change func(s State, silenced bool) (next State, add []Notice, changed bool)) error
	// Claim gives owner the oldest notice of a rule that is not ended, if it is due or the claim of another owner has
	// lapsed; ok is false if there is none. The claim holds for Lease. While the rule is silenced it ends all notices
	// that no one is sending as Silenced instead.
	Claim(ctx context.Context, scope, rule, owner string) (d Delivery, ok bool, err error)
	// Done ends an attempt of owner. Nothing happens if the claim belongs to another owner by now.
	Done(ctx context.Context, scope, owner, id string, o Outcome) error
	// Silence replaces the silence of a rule; one whose Until is past ends it.
	Silence(ctx context.Context, scope, rule string, s Silence) error
	// Summaries returns every rule by name.
	Summaries(ctx context.Context, scope string) (map[string]Summary, time.Time, error)
}
