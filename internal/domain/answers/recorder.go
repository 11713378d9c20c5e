package answers

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

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

// Flush stores what is pending if any of it is news, so that no process shows what the others cannot read.
func (r *Recorder) Flush() {
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
	r.write()
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
