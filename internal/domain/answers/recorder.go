package answers

import (
	"context"
	"sync"
	"time"

	"opdeck/api/reach"
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
	pending map[[2]string]seen        // guarded by mu
	wrote   map[[2]string]reach.Class // guarded by mu: as written last
	timer   *time.Timer               // guarded by mu: of the next write; nil: none
	due     time.Time                 // guarded by mu: when timer fires
	last    time.Time                 // guarded by mu: of the last write
	ended   bool                      // guarded by mu
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
	return &Recorder{store: store, scope: scope, by: by, pending: map[[2]string]seen{},
		wrote: map[[2]string]reach.Class{}}
}

// Seen notes an outcome that came just now; certificate is until when the service's is valid, zero if not seen.
func (r *Recorder) Seen(class, route string, fault reach.Fault, certificate time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	key, now := [2]string{class, route}, time.Now()
	r.pending[key] = seen{Answer{Class: class, Route: route, Fault: fault, By: r.by,
		Certificate: certificate}, now}
	wait := Steady
	if was, known := r.wrote[key]; !known || was != fault.Class {
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

// write stores what is pending. After an error the next outcome tries again.
func (r *Recorder) write() {
	r.mu.Lock()
	list, keys := make([]Answer, 0, len(r.pending)), r.pending
	now := time.Now()
	for _, s := range r.pending {
		s.answer.Ago = now.Sub(s.at)
		list = append(list, s.answer)
	}
	r.pending, r.timer, r.last = map[[2]string]seen{}, nil, now
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
	for key, s := range keys {
		r.wrote[key] = s.answer.Fault.Class
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
