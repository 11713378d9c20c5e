package limit

import (
	"context"
	"time"
)

// Key identifies a set of budgets: one machine account at one service. Both parts are normalised (session protocol
// rule A2; session.NormalKey does it).
type Key struct {
	BaseURL string
	Account string
}

// Limits of what a store keeps and accepts.
const (
	// Retention is how long used slots are kept, for the last ten minutes' history.
	Retention = 10 * time.Minute
	// ThrottleRetention is how long 429 answers are counted.
	ThrottleRetention = time.Hour
	// MaxAhead is the furthest that a slot may be ahead. A stored slot or 429 further ahead is from a clock that was set
	// back and is deleted (rule G3). One that is less far ahead was stored after the reader read the clock.
	MaxAhead = 5 * time.Minute
	// MaxNotBefore bounds the wait that a 429 may ask for (rule D4). A stored value further ahead is cut and written
	// back (rule G3).
	MaxNotBefore = 5 * time.Minute
	// Late is how much later than its slot a waiter may confirm it. The window's two spare seconds cover it.
	Late = 500 * time.Millisecond
)

// Rule is the budget of a class.
type Rule struct {
	N       int           // calls in a window, ≥ 1
	Window  time.Duration // 62 s for API classes, 65 s for auth (rule F1)
	Reserve int           // slots that background work leaves free, 0 … N-1
}

// Request is a request to send one call.
type Request struct {
	Class Class
	Rule  Rule
	// Ticket is "" for a new call, else the ticket of the Grant that made the caller wait: the slot is confirmed, or
	// moved if the caller is too late or a 429 arrived in between.
	Ticket string
	// Who makes the call, for people: a person, a borrower or a part of a program, with the host; "" if not known.
	Who string
	// As is the ticket of a new slot; "": a random one.
	As string
	// MaxWait is the longest acceptable wait. If no slot is free by then, nothing is reserved.
	MaxWait time.Duration
	// Background work gets a slot only at once, if no one waits and Rule.Reserve further slots stay free; it is never
	// queued.
	Background bool
	// Warn sends regardless of the ring and marks the slot as over the budget (policy "warn"). A 429's not_before
	// still applies.
	Warn bool
}

// Grant is the result of a Request.
type Grant struct {
	// Taken: a slot is reserved. With Wait 0 the call can be sent now; otherwise the caller sleeps for Wait and
	// repeats the request with Ticket.
	Taken  bool
	Ticket string        // random; "" if nothing is reserved
	Wait   time.Duration // ≥ 0; if not Taken: until a retry makes sense
	Over   bool          // exceeds the budget (policy "warn")
}

// Slot is one reserved or used send time, as returned by Store.State.
type Slot struct {
	Ago        time.Duration // negative: still ahead, and a caller waits for it
	Background bool
	Over       bool
	Who        string // see Request
}

// State is what a store knows of one class.
type State struct {
	Slots     []Slot          // oldest first, at most Retention old
	NotBefore time.Duration   // until a 429's not_before; 0 for none
	Throttled []time.Duration // ages of 429 answers within ThrottleRetention, oldest first
}

// Store keeps rings of reserved send times, shared by all processes of a key. An implementation reads the class's
// slots in a transaction that excludes others of the same key and class, calls Decide, and writes its decision; it
// decides nothing itself. All times are the store's own (rule G1): only durations cross this interface.
type Store interface {
	// Take reserves, confirms or moves a slot. After an error the slot may be lost, but is never reserved twice.
	Take(ctx context.Context, key Key, req Request) (Grant, error)
	// GiveBack deletes the slot of ticket if it is still ahead. An unknown, used or expired ticket is not an error.
	GiveBack(ctx context.Context, key Key, class Class, ticket string) error
	// Throttle records a 429: no call of this class is sent before wait is over (cut to MaxNotBefore; an earlier,
	// longer wait stays).
	Throttle(ctx context.Context, key Key, class Class, wait time.Duration) error
	// State reads all classes that have slots or 429s.
	State(ctx context.Context, key Key) (map[Class]State, error)
}
