package approval

import (
	"context"
	"errors"
	"time"

	"opdeck/api"
)

// ErrNotFound says that there is no such request.
var ErrNotFound = errors.New("approval: no such request")

// ErrState says that a request was no longer in the state that a change asks
// for: somebody was faster.
var ErrState = errors.New("approval: the request is not in that state any more")

// Filter selects requests.
type Filter struct {
	Scope  string  // required
	States []State // empty: all
	Limit  int     // newest ones; 0 means 100
}

// Store keeps requests. Each change raises the version by at least one. All times
// are the store's: hosts that share it need not agree about the time of day. What
// lies further ahead than it can is cut (session protocol, rule G3).
type Store interface {
	// Now is the store's clock.
	Now(ctx context.Context) (time.Time, error)
	// Update calls change, in one transaction, with the time and the newest requests
	// of that scope, requester and target (at most ten), and stores those it returns:
	// new ones are added, known ones replaced. No other Update or Decide runs beside it.
	Update(ctx context.Context, scope, requester, target string,
		change func(now time.Time, known []Request) ([]Request, error)) error
	// Decide changes a request if it is in state from and has not expired; ErrState
	// if not, ErrNotFound if there is none.
	Decide(ctx context.Context, scope, id string, from State, change func(now time.Time, r *Request)) (Request, error)
	// Lapse sets the state of what has expired to Lapsed, and returns those.
	Lapse(ctx context.Context, scope string) ([]Request, error)
	// Settle notes what became of a spent request.
	Settle(ctx context.Context, scope, id string, v api.Verdict) error
	// Get returns one request, or ErrNotFound.
	Get(ctx context.Context, scope, id string) (Request, error)
	// List returns the newest requests first.
	List(ctx context.Context, f Filter) ([]Request, error)
	// Version is a number that grows with each change; cheap to read.
	Version(ctx context.Context) (int64, error)
}
