package limit

import (
	"context"
	"time"
)

// Key names whose budgets these are: one machine account at one service. Both
// parts are normalised (session protocol rule A2; session.NormalKey does it).
type Key struct {
	BaseURL string
	Account string
}

// Limits of what a store keeps and believes.
const (
	// Retention is how long used slots are kept, for the last ten minutes' history.
	Retention = 10 * time.Minute
	// ThrottleRetention is how long 429 answers are counted.
	ThrottleRetention = time.Hour
	// MaxAhead is the furthest a slot may lie ahead. A stored slot further ahead
	// comes from a clock that was set back and is deleted (rule G3).
	MaxAhead = 5 * time.Minute
	// MaxNotBefore cuts what a 429 may ask for (rule D4), and a stored value
	// further ahead (rule G3): it is written back cut.
	MaxNotBefore = 5 * time.Minute
	// Late is how much later than its slot a waiter may confirm it. The window's
	// spare two seconds cover it.
	Late = 500 * time.Millisecond
)

// Rule is the budget of a class.
type Rule struct {
	N       int           // calls in a window, ≥ 1
	Window  time.Duration // 62 s for API classes, 65 s for auth (rule F1)
	Reserve int           // slots that background work leaves free, 0 … N-1
}

// Request asks for the right to send one call.
type Request struct {
	Class Class
	Rule  Rule
	// Ticket is "" for a new call, else the ticket of the Grant that gave the
	// caller to wait: the slot is now confirmed, or moved if the caller comes too
	// late or a 429 came in between.
	Ticket string
	// MaxWait is how long the caller is willing to wait. If no slot comes by then,
	// nothing is reserved.
	MaxWait time.Duration
	// Background work gets a slot only at once, when nobody waits and Rule.Reserve
	// further slots stay free; it is never queued.
	Background bool
	// Warn sends whatever the ring says and marks the slot as over the budget
	// (policy "warn"). A 429's not_before holds all the same.
	Warn bool
}

// Grant answers a Request.
type Grant struct {
	// Taken: a slot is reserved. With Wait 0 the call goes now; otherwise the
	// caller sleeps for Wait and asks again with Ticket.
	Taken  bool
	Ticket string        // random, "" when nothing is reserved
	Wait   time.Duration // ≥ 0; when not Taken: how long until asking again makes sense
	Over   bool          // sent over the budget (policy "warn")
}

// Slot is one reserved or used send time, as returned by Store.State.
type Slot struct {
	Ago        time.Duration // negative: still ahead, somebody waits for it
	Background bool
	Over       bool
}

// State is what a store knows of one class.
type State struct {
	Slots     []Slot          // oldest first, at most Retention old
	NotBefore time.Duration   // left of a 429's not_before, 0 when none
	Throttled []time.Duration // ages of 429 answers within ThrottleRetention, oldest first
}

// Store keeps rings of reserved send times, shared by all processes of a key.
// An implementation reads the class's slots in a transaction that excludes
// others of the same key and class, calls Decide, and writes what it says; it
// never decides by itself. All times are the store's own (rule G1): only
// durations cross this interface.
type Store interface {
	// Take reserves, confirms or moves a slot. An error means that nothing is
	// reserved as far as is known; a slot that was is lost, never double.
	Take(ctx context.Context, key Key, req Request) (Grant, error)
	// GiveBack deletes the slot of ticket if it still lies ahead. A ticket that is
	// unknown, used or over is not an error.
	GiveBack(ctx context.Context, key Key, class Class, ticket string) error
	// Throttle notes a 429: nobody sends a call of this class before wait is over
	// (cut to MaxNotBefore; an earlier, longer wait stays).
	Throttle(ctx context.Context, key Key, class Class, wait time.Duration) error
	// State reads all classes that have something to tell.
	State(ctx context.Context, key Key) (map[Class]State, error)
}
