package serve

import (
	"context"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/internal/app"
)

// inFlight stands before the audit trail and knows the acts between intent and
// outcome: those that a server must not abandon.
type inFlight struct {
	api.Auditor
	gate *api.Gate

	mu   sync.Mutex
	acts map[string]string // guarded by mu: reference to session
	less chan struct{}     // guarded by mu: closed and made anew when one ends
}

// watchActs puts an inFlight before the trail of the App's gate, until stop.
func watchActs(a *app.App) *inFlight {
	f := &inFlight{Auditor: a.Gate.Audit, gate: a.Gate, acts: map[string]string{}, less: make(chan struct{})}
	a.Gate.Audit = f
	return f
}

// stop takes it away again; nothing may pass the gate meanwhile.
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
	close(f.less)
	f.less = make(chan struct{})
	return err
}

// settled waits until no act of a session is under way, or ctx ends.
func (f *inFlight) settled(ctx context.Context, session string) {
	f.wait(ctx, func(of string) bool { return of == session })
}

// settle waits until no act at all is under way, at most d.
func (f *inFlight) settle(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	f.wait(ctx, func(string) bool { return true })
}

func (f *inFlight) wait(ctx context.Context, which func(session string) bool) {
	for {
		f.mu.Lock()
		some, less := false, f.less
		for _, of := range f.acts {
			some = some || which(of)
		}
		f.mu.Unlock()
		if !some {
			return
		}
		select {
		case <-less:
		case <-ctx.Done():
			return
		}
	}
}
