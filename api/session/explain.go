package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"opdeck/api/limit"
	"opdeck/api/reach"
)

// reasonTime bounds a read of the store that only serves a sentence.
const reasonTime = 2 * time.Second

// notYet is the error for a caller that cannot or does not want to wait out a back-off. Its fault is the newest one,
// whichever process met it.
func (m *Manager) notYet(ctx context.Context, wait time.Duration) *Error {
	return &Error{Kind: ServiceUnavailable, Public: "the session cannot be renewed yet", RetryAfter: wait,
		Fault: m.fault(ctx)}
}

// fault is that of the newest login or refresh that no success followed, whichever process made it; None if there is
// none or the caller has left. An attempt that was not sent takes no fault's place.
func (m *Manager) fault(ctx context.Context) reach.Fault {
	if errors.Is(ctx.Err(), context.Canceled) {
		return reach.Fault{}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reasonTime)
	defer cancel()
	events, err := m.store.Events(ctx, m.key, 0, 50)
	if err != nil {
		return reach.Fault{}
	}
	e, _ := unsolved(events)
	return e.Fault
}

// unsolved is the newest login or refresh of a history (oldest first) that failed and that no success or reset
// followed.
func unsolved(events []Event) (e Event, ok bool) {
	for _, e := range slices.Backward(events) {
		switch {
		case e.ends():
			return Event{}, false
		case e.Kind != EventLogin && e.Kind != EventRefresh:
		case e.Outcome != NoSlot && e.Outcome != Aborted && e.Outcome != Fenced:
			return e, true
		}
	}
	return Event{}, false
}

// failAtOnce: if the next try is at least this far away, a person gets the last try's permanent fault instead of
// waiting.
const failAtOnce = 5 * time.Second

// faultBefore is the error of the last rotation of all processes if its fault is permanent and the next try is at
// least failAtOnce away.
func (m *Manager) faultBefore(ctx context.Context, wait time.Duration) *Error {
	if wait < failAtOnce {
		return nil
	}
	if e := m.notYet(ctx, wait); e.Fault.Permanent() {
		return e
	}
	return nil
}

// isPermanent reports whether err is one that no retry ends.
func isPermanent(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == ServiceUnavailable && e.Fault.Permanent()
}

// Waiting is what a call waits for.
type Waiting struct {
	Sentence string
	Renewal  bool // the session cannot be renewed yet: the caller knows better why
	Next     time.Duration
}

// WaitsFor says what a call of class waits for at present. It only reads the store.
func (m *Manager) WaitsFor(ctx context.Context, class limit.Class) Waiting {
	ctx, cancel := context.WithTimeout(ctx, reasonTime)
	defer cancel()
	row, before, err := m.load(ctx)
	switch {
	case err != nil:
		return Waiting{Sentence: "Waiting for the shared store."}
	case row.Phase.Sent():
		return Waiting{Sentence: fmt.Sprintf("Waiting for the %s that %s is making.",
			map[Phase]string{SentLogin: "login", SentRefresh: "refresh"}[row.Phase], row.Owner.name())}
	case m.usable(row, before):
		return Waiting{Sentence: "Waiting for a slot among the " + string(class) + " calls, or for the shared store."}
	}
	if wait := row.waitFor(row.kind()); wait > 0 {
		return Waiting{Sentence: "Waiting: the session cannot be renewed yet.", Renewal: true, Next: wait}
	}
	return Waiting{Sentence: "Waiting for a session."}
}
