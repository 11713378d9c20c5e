// Package answers keeps what real calls have shown last, by class and route, for all processes of a store: when the
// service answered last, when a call failed last, since when, and how.
package answers

import (
	"context"
	"time"

	"opdeck/api/reach"
)

// Answer is the outcome of one call.
type Answer struct {
	Class, Route string
	Fault        reach.Fault   // Class None: the service answered
	Ago          time.Duration // since it came, ≥ 0
	By           string        // the process, for people
	Certificate  time.Time     // until when the service's certificate is valid; zero: not seen
}

func (a Answer) good() bool { return a.Fault.Class == reach.None }

// Last is what the calls of one class and route have shown, by the store's clock.
type Last struct {
	Class  string      `json:"class"`
	Route  string      `json:"route"`
	Good   time.Time   `json:"good,omitzero"`
	Failed time.Time   `json:"failed,omitzero"`
	Since  time.Time   `json:"since,omitzero"` // the first failure after Good; zero: none
	Fault  reach.Fault `json:"fault,omitzero"` // of the last failure
	Over   time.Time   `json:"over,omitzero"`  // the first answer after Failed; zero: none
	By     string      `json:"by"`             // who saw the newest outcome
	// Certificate is until when the service's is valid, as seen at Good; zero: not seen.
	Certificate time.Time `json:"certificate,omitzero"`
}

// With is l after an answer that came at that time. An older answer than the known one of its kind changes nothing.
func (l Last) With(a Answer, at time.Time) Last {
	switch {
	case a.good() && at.After(l.Good):
		if !a.Certificate.IsZero() {
			l.Certificate = a.Certificate
		}
		if l.Good = at; !l.Failed.After(at) {
			if !l.Since.IsZero() {
				l.Over = at
			}
			l.Since = time.Time{}
			l.By = a.By
		}
	case !a.good() && at.After(l.Failed):
		l.Failed, l.Fault = at, a.Fault
		if at.After(l.Good) {
			l.By = a.By
			if l.Since.IsZero() {
				l.Since = at
			}
		}
	}
	return l
}

// Kept is how long an outcome is kept.
const Kept = 24 * time.Hour

// Store keeps one Last for each class and route of a scope (base_url and account).
type Store interface {
	// Put adds answers; each has come Ago before now, by the store's clock. Outcomes older than Kept are removed.
	Put(ctx context.Context, scope string, list []Answer) error
	// All returns what is known of a scope, in the order of class and route, and the store's time of the read.
	All(ctx context.Context, scope string) ([]Last, time.Time, error)
}
