package app

import (
	"context"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

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
	latest map[string]api.Call    // guarded by mu: as it was told last
}

// tellWaits reports what this App's calls wait for.
func (a *App) tellWaits(tell func(string)) {
	w := &waits{tell: tell, timers: map[string]*time.Timer{}, latest: map[string]api.Call{}, say: func(c api.Call) string {
		switch {
		case c.Phase == api.CallRuns && c.Moved < c.Size:
			word := "Received "
			if c.Write {
				word = "Sent "
			}
			return word + humanize.Bytes(uint64(c.Moved)) + " of " + humanize.Bytes(uint64(c.Size)) + " (" + c.Op + ")." //nolint:gosec // no size is negative
		case c.Phase == api.CallRuns:
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
	t := w.timers[c.ID]
	if w.latest[c.ID] = c; t != nil && c.Size > 0 && c.Phase == api.CallRuns {
		return // it goes on
	}
	if t != nil {
		t.Stop()
		delete(w.timers, c.ID)
	}
	if c.Phase == api.CallEnded {
		delete(w.latest, c.ID)
	}
	if c.Phase != api.CallEnded {
		w.after(waitTold, c)
	}
}

// after reports c later, unless it has made progress by then. The caller holds mu.
func (w *waits) after(d time.Duration, c api.Call) {
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		w.mu.Lock()
		if now, ok := w.latest[c.ID]; ok {
			c = now
		}
		w.mu.Unlock()
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
