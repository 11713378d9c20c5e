// Package answers keeps what real calls have shown last, by class and route, for all processes of a store: when an
// answer could be used last, and what came since: when a call failed last, since when, how, and for which objects.
package answers

import (
	"cmp"
	"context"
	"slices"
	"sync"
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

// How often a process writes: a changed outcome after at most Soon, an unchanged one once in Steady. So a process
// writes at most 30 times a minute while outcomes change, four times a minute while they do not, and never while it
// makes no calls.
const (
	Soon   = 2 * time.Second
	Steady = 15 * time.Second
)

// Recorder passes the outcomes of this process's calls to the store. Seen never waits for it.
type Recorder struct {
	store Store
	scope string
	by    string

	storing sync.Mutex // held while pending is being stored; taken before mu
	mu      sync.Mutex
	pending map[[3]string]seen   // guarded by mu: by class, route and object
	wrote   map[[2]string]string // guarded by mu: as written last, by class and route
	timer   *time.Timer          // guarded by mu: of the next write; nil: none
	due     time.Time            // guarded by mu: when timer fires
	last    time.Time            // guarded by mu: of the last write
	ended   bool                 // guarded by mu
	writing sync.WaitGroup
}

type seen struct {
	answer Answer
	at     time.Time
}

// writeTime bounds a write.
const writeTime = 2 * time.Second

// NewRecorder returns the Recorder of one process, by, for a scope.
func NewRecorder(store Store, scope, by string) *Recorder {
	return &Recorder{store: store, scope: scope, by: by, pending: map[[3]string]seen{},
		wrote: map[[2]string]string{}}
}

// outcome is what decides whether an answer is news of its route.
func (a Answer) outcome() string {
	if a.good() {
		return ""
	}
	return string(a.Fault.Class) + " " + a.Fault.Shape + " " + a.Object
}

// Seen notes an answer that came just now.
func (r *Recorder) Seen(a Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	now := time.Now()
	a.By = r.by
	if len(r.pending) < maxPending {
		r.pending[[3]string{a.Class, a.Route, a.Object}] = seen{a, now}
	}
	wait := Steady
	if was, known := r.wrote[[2]string{a.Class, a.Route}]; !known || was != a.outcome() {
		wait = Soon
	}
	at := now
	if next := r.last.Add(wait); next.After(now) {
		at = next
	}
	if r.timer != nil && !at.Before(r.due) {
		return
	}
	if r.timer == nil || r.timer.Stop() {
		r.writing.Add(1)
	} else {
		return // it is about to write
	}
	if r.timer != nil {
		r.writing.Done() // of the stopped one
	}
	r.due = at
	r.timer = time.AfterFunc(at.Sub(now), func() {
		defer r.writing.Done()
		r.write()
	})
}

// maxPending bounds the answers of one write.
const maxPending = 500

// Flush stores what is pending if any of it is news, so that no process shows what the others cannot read. It waits for
// a write that is under way.
func (r *Recorder) Flush() {
	r.storing.Lock()
	defer r.storing.Unlock()
	r.mu.Lock()
	news := false
	for _, s := range r.pending {
		was, known := r.wrote[[2]string{s.answer.Class, s.answer.Route}]
		news = news || !known || was != s.answer.outcome()
	}
	if !news || r.ended {
		r.mu.Unlock()
		return
	}
	if r.timer != nil && r.timer.Stop() {
		r.writing.Done()
	}
	r.mu.Unlock()
	r.put()
}

// list is what is pending at now. The caller holds mu.
func (r *Recorder) list(now time.Time) []Answer {
	list := make([]Answer, 0, len(r.pending))
	for _, s := range r.pending {
		s.answer.Ago = now.Sub(s.at)
		list = append(list, s.answer)
	}
	slices.SortFunc(list, func(a, b Answer) int { return cmp.Compare(b.Ago, a.Ago) })
	return list
}

// write stores what is pending. After an error the next outcome tries again.
func (r *Recorder) write() {
	r.storing.Lock()
	defer r.storing.Unlock()
	r.put()
}

// put is write; the caller holds storing.
func (r *Recorder) put() {
	r.mu.Lock()
	now := time.Now()
	list := r.list(now)
	r.pending, r.timer, r.last = map[[3]string]seen{}, nil, now
	r.mu.Unlock()
	if len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	if r.store.Put(ctx, r.scope, list) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range list {
		r.wrote[[2]string{a.Class, a.Route}] = a.outcome()
	}
}

// Close writes what is pending and ends the Recorder.
func (r *Recorder) Close() error {
	r.mu.Lock()
	r.ended = true
	if r.timer != nil && r.timer.Stop() {
		r.writing.Done()
	}
	r.mu.Unlock()
	r.writing.Wait()
	r.write()
	return nil
}
