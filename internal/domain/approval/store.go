package approval

import (
	"context"
	"errors"
	"time"

	"opdeck/api"
)

// ErrNotFound: there is no such request.
var ErrNotFound = errors.New("approval: no such request")

// ErrState: the request is no longer in the required state, because of a concurrent change.
var ErrState = errors.New("approval: the request is not in that state any more")

// Filter selects requests.
type Filter struct {
	Scope  string  // required
	States []State // empty: all
	Limit  int     // newest first; 0 means 100
}

// Store keeps requests. Each change increases the version. All times are the store's, so that hosts need not agree
// about the time; times implausibly far ahead are cut (session protocol, rule G3).
type Store interface {
	// Now is the store's clock.
	Now(ctx context.Context) (time.Time, error)
	// Update calls change, in one transaction, with the time and the newest requests
	// of that scope, requester and target (at most 100), and stores those it returns:
	// new ones are added, known ones replaced. No other Update or Decide runs beside it.
	Update(ctx context.Context, scope, requester, target string,
		change func(now time.Time, known []Request) ([]Request, error)) error
	// Decide changes a request that is in state from and has not expired; else ErrState, or ErrNotFound if there is
	// none.
	Decide(ctx context.Context, scope, id string, from State, change func(now time.Time, r *Request)) (Request, error)
	// Lapse sets the state of expired requests to Lapsed and returns them.
	Lapse(ctx context.Context, scope string) ([]Request, error)
	// Settle records the outcome of a spent request.
	Settle(ctx context.Context, scope, id string, v api.Verdict) error
	// Get returns one request, or ErrNotFound.
	Get(ctx context.Context, scope, id string) (Request, error)
	// List returns the newest requests first.
	List(ctx context.Context, f Filter) ([]Request, error)
	// Version increases with each change; it is cheap to read.
	Version(ctx context.Context) (int64, error)
}
