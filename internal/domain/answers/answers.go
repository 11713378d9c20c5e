// Package answers keeps what real calls have shown last, by class and route, for all processes of a store: when an
// answer could be used last, and what came since: when a call failed last, since when, how, and for which objects.
package answers

import (
	"context"
	"slices"
	"time"

	"opdeck/api/reach"
)

// Answer is the outcome of one call.
type Answer struct {
	Class, Route string
	Object       string        // a digest of the ids in its path; "": none
	Fault        reach.Fault   // Class None: the answer could be used
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
	// Objects are those of the failures after Good that were like Fault, up to MaxObjects.
	Objects []string `json:"objects,omitempty"`
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
			l.Since, l.Objects = time.Time{}, nil
			l.By = a.By
		}
	case !a.good() && !at.Before(l.Failed):
		if a.Fault.Class != l.Fault.Class || a.Fault.Shape != l.Fault.Shape {
			l.Objects = nil
		}
		if a.Object != "" && len(l.Objects) < MaxObjects && !slices.Contains(l.Objects, a.Object) {
			l.Objects = append(slices.Clone(l.Objects), a.Object)
		}
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

// After returns those of the routes in list as they are after its answers, of which the oldest comes first; each has
// come Ago before now.
func After(known []Last, list []Answer, now time.Time) []Last {
	var out []Last
	at := func(in []Last, a Answer) int {
		return slices.IndexFunc(in, func(l Last) bool { return l.Class == a.Class && l.Route == a.Route })
	}
	for _, a := range list {
		i := at(out, a)
		if i < 0 {
			l := Last{Class: a.Class, Route: a.Route}
			if k := at(known, a); k >= 0 {
				l = known[k]
			}
			i, out = len(out), append(out, l)
		}
		out[i] = out[i].With(a, now.Add(-max(0, a.Ago)))
	}
	return out
}

// MaxObjects bounds the objects of a Last: more make nothing surer.
const MaxObjects = 3

// Kept is how long an outcome is kept.
const Kept = 24 * time.Hour

// Store keeps one Last for each class and route of a scope (base_url and account).
type Store interface {
	// Put adds answers; each has come Ago before now, by the store's clock. Outcomes older than Kept are removed.
	Put(ctx context.Context, scope string, list []Answer) error
	// All returns what is known of a scope, in the order of class and route, and the store's time of the read.
	All(ctx context.Context, scope string) ([]Last, time.Time, error)
}
