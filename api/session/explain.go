package session

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"opdeck/api/limit"
)

// reasonTime bounds a read of the store that only serves a sentence.
const reasonTime = 2 * time.Second

// notYet is the error for a caller that cannot or does not want to wait out a back-off. It gives the cause and the
// evidence, whichever process found them.
func (m *Manager) notYet(ctx context.Context, row Row, wait time.Duration) *Error {
	return &Error{Kind: ServiceUnavailable, Public: "the session cannot be renewed yet" + m.cause(ctx, row),
		RetryAfter: wait}
}

// because is ": " and what keeps the session from being renewed; "" if nothing is known or the caller has left.
func (m *Manager) because(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ""
	}
	return m.cause(ctx, Row{})
}

// cause is ": " and the newest problem in the shared history that no rotation has resolved, "" for none.
func (m *Manager) cause(ctx context.Context, row Row) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reasonTime)
	defer cancel()
	events, err := m.store.Events(ctx, m.key, 0, 50)
	if err != nil {
		return ""
	}
	events = slices.DeleteFunc(events, func(e Event) bool {
		return e.Kind != EventLogin && e.Kind != EventRefresh && e.Kind != EventBlocked
	})
	v := Diagnose(events, row)
	if v.Cause == NoCause || v.Healed {
		return ""
	}
	if len(v.Evidence) == 0 {
		return ": " + v.Sentence
	}
	return ": " + v.Sentence + " (" + strings.Join(v.Evidence, "; ") + ")"
}

// WaitsFor is a sentence on what a call of class waits for at present. It only reads the store.
func (m *Manager) WaitsFor(ctx context.Context, class limit.Class) string {
	ctx, cancel := context.WithTimeout(ctx, reasonTime)
	defer cancel()
	row, before, err := m.load(ctx)
	switch {
	case err != nil:
		return "Waiting for the shared store."
	case row.Phase.Sent():
		return "Waiting for the " + map[Phase]string{SentLogin: "login", SentRefresh: "refresh"}[row.Phase] + " that " +
			row.Owner.name() + " is making."
	case m.usable(row, before):
		return "Waiting for a slot among the " + string(class) + " calls, or for the shared store."
	}
	if wait := row.waitFor(row.kind()); wait > 0 {
		e := m.notYet(ctx, row, wait)
		return "Waiting: " + e.Error() + "."
	}
	return "Waiting for a session."
}
