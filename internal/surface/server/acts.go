package server

import (
	"context"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/internal/app"
)

// inFlight wraps the audit trail and tracks the acts between intent and outcome, which a server must not abandon.
type inFlight struct {
	api.Auditor
	gate *api.Gate

	mu    sync.Mutex
	acts  map[string]string // guarded by mu: reference to session
	ended chan struct{}     // guarded by mu: closed and replaced when an act ends
}

// watchActs puts an inFlight in front of the trail of the App's gate, until stop.
func watchActs(a *app.App) *inFlight {
	f := &inFlight{Auditor: a.Gate.Audit, gate: a.Gate, acts: map[string]string{}, ended: make(chan struct{})}
	a.Gate.Audit = f
	return f
}

// stop restores the trail; nothing may pass the gate meanwhile.
func (f *inFlight) stop() { f.gate.Audit = f.Auditor }

// Intent implements api.Auditor.
func (f *inFlight) Intent(ctx context.Context, who api.Actor, act api.Act) (string, error) {
	ref, err := f.Auditor.Intent(ctx, who, act)
	if err == nil {
		f.mu.Lock()
		f.acts[ref] = who.Session
		f.mu.Unlock()
	}
	return ref, err
}

// Outcome implements api.Auditor.
func (f *inFlight) Outcome(ctx context.Context, ref string, out api.Outcome) error {
	err := f.Auditor.Outcome(ctx, ref, out)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.acts, ref)
	close(f.ended)
	f.ended = make(chan struct{})
	return err
}

// awaitSession waits until a session has no running act, or ctx ends.
func (f *inFlight) awaitSession(ctx context.Context, session string) {
	f.wait(ctx, func(of string) bool { return of == session })
}

// awaitAll waits until there is no running act, at most d.
func (f *inFlight) awaitAll(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	f.wait(ctx, func(string) bool { return true })
}

func (f *inFlight) wait(ctx context.Context, which func(session string) bool) {
	for {
		f.mu.Lock()
		some, ended := false, f.ended
		for _, of := range f.acts {
			some = some || which(of)
		}
		f.mu.Unlock()
		if !some {
			return
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return
		}
	}
}
