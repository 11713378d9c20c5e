package app

import (
	"context"
	"sync"
	"time"

	"opdeck/api"
)

// Times of what is told of a wait.
const (
	waitTold  = 2 * time.Second  // until the wait is reported
	waitAgain = 20 * time.Second // until it is reported again
)

// waits reports what a call waits for when it takes long.
type waits struct {
	tell func(string)
	say  func(api.Call) string

	mu     sync.Mutex
	timers map[string]*time.Timer // guarded by mu: by call
}

// tellWaits reports what this App's calls wait for.
func (a *App) tellWaits(tell func(string)) {
	w := &waits{tell: tell, timers: map[string]*time.Timer{}, say: func(c api.Call) string {
		if c.Phase == api.CallRuns {
			return "Waiting for the service to answer (" + c.Op + ")."
		}
		return a.Session.WaitsFor(context.Background(), c.Class)
	}}
	a.OnCall(w.onCall)
}

// onCall gets each step of each call.
func (w *waits) onCall(c api.Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.timers[c.ID]; t != nil {
		t.Stop()
		delete(w.timers, c.ID)
	}
	if c.Phase != api.CallEnded {
		w.after(waitTold, c)
	}
}

// after reports c later, unless it has made progress by then. The caller holds mu.
func (w *waits) after(d time.Duration, c api.Call) {
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		sentence := w.say(c)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.timers[c.ID] != t {
			return
		}
		w.tell(sentence)
		w.after(waitAgain, c)
	})
	w.timers[c.ID] = t
}
