package app

import (
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"opdeck/api"
)

// When a wait is reported.
const (
	waitReported = 2 * time.Second  // until the first report
	waitAgain    = 20 * time.Second // between reports
	moveAgain    = 5 * time.Second  // between reports of a body's progress
)

// waits reports what slow calls wait for.
type waits struct {
	report func(sentence string, moves bool)
	say    func(api.Call) string

	mu     sync.Mutex
	timers map[string]*time.Timer // guarded by mu: by call
	latest map[string]api.Call    // guarded by mu: as last received
}

// reportWaits reports what this App's calls wait for, and the progress of bodies.
func (a *App) reportWaits(report func(sentence string, moves bool)) {
	w := newWaits(report, factReader{a}.waitsFor)
	a.OnCall(w.onCall)
}

// newWaits words with room what an unsent call waits for.
func newWaits(report func(sentence string, moves bool), room func(api.Call) string) *waits {
	w := &waits{report: report, timers: map[string]*time.Timer{}, latest: map[string]api.Call{}}
	w.say = func(c api.Call) string {
		switch {
		case moves(c):
			word, of := "Received ", ""
			if c.Write {
				word = "Sent "
			}
			if c.Size > 0 {
				of = " of " + humanize.Bytes(uint64(c.Size)) //nolint:gosec // no size is negative
			}
			return word + humanize.Bytes(uint64(c.Moved)) + of + " (" + c.Op + ")." //nolint:gosec // no size is negative
		case c.Phase == api.CallRuns:
			return "Waiting for the service to answer (" + c.Op + ")."
		}
		return room(c)
	}
	return w
}

// moves reports whether the call's body is partly transferred.
func moves(c api.Call) bool {
	return c.Phase == api.CallRuns && c.Moved > 0 && (c.Size == 0 || c.Moved < c.Size)
}

// onCall receives each phase of each call.
func (w *waits) onCall(c api.Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, moved := w.timers[c.ID], moves(w.latest[c.ID])
	if w.latest[c.ID] = c; t != nil && moved && c.Phase == api.CallRuns {
		return // the timer continues
	}
	if t != nil {
		t.Stop()
		delete(w.timers, c.ID)
	}
	if c.Phase == api.CallEnded {
		delete(w.latest, c.ID)
	}
	if c.Phase != api.CallEnded {
		w.after(waitReported, c)
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
		w.report(sentence, moves(c))
		if moves(c) {
			w.after(moveAgain, c)
			return
		}
		w.after(waitAgain, c)
	})
	w.timers[c.ID] = t
}
