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

// refused is notYet, or the error of a used up budget if the newest rotation was not sent for want of a slot.
func (m *Manager) refused(ctx context.Context, class limit.Class, wait time.Duration) error {
	events, err := m.store.Events(ctx, m.key, 0, 50)
	for _, e := range slices.Backward(events) {
		if err == nil && e.Outcome == NoSlot {
			return &limit.Exhausted{Class: class, RetryAfter: wait}
		} else if e.Outcome != "" {
			break
		}
	}
	return m.notYet(ctx, wait)
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
		case e.Ends():
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

// Ends reports whether e ends earlier problems: they concerned a pair or block that is gone.
func (e Event) Ends() bool { return e.Rotated() || e.Kind == EventReset }

// Rotated reports whether e installed a pair.
func (e Event) Rotated() bool {
	return (e.Kind == EventLogin || e.Kind == EventRefresh) && e.Outcome == OK
}

// WaitFor is what a call waits for.
type WaitFor string

// What a call can wait for.
const (
	ForStore   WaitFor = "store"   // the shared store does not answer
	ForHolder  WaitFor = "holder"  // a process logs in or refreshes
	ForSlot    WaitFor = "slot"    // a slot in the budget, or the store
	ForRenewal WaitFor = "renewal" // the back-off of a login or refresh
	ForSession WaitFor = "session" // tokens
)

// Waiting is what a call waits for.
type Waiting struct {
	For    WaitFor
	Kind   Kind          // of ForHolder
	Holder Owner         // of ForHolder
	Next   time.Duration // of ForRenewal: until the next try
}

// WaitsFor says what a call waits for at present. It only reads the store.
func (m *Manager) WaitsFor(ctx context.Context) Waiting {
	ctx, cancel := context.WithTimeout(ctx, reasonTime)
	defer cancel()
	row, before, err := m.load(ctx)
	switch {
	case err != nil:
		return Waiting{For: ForStore}
	case row.Phase.Sent():
		return Waiting{For: ForHolder, Holder: row.Owner,
			Kind: map[Phase]Kind{SentLogin: ByLogin, SentRefresh: ByRefresh}[row.Phase]}
	case m.usable(row, before):
		return Waiting{For: ForSlot}
	}
	if wait := row.waitFor(row.kind()); wait > 0 {
		return Waiting{For: ForRenewal, Next: wait}
	}
	return Waiting{For: ForSession}
}

// ErrKind says what kept a call from being sent or answered.
type ErrKind string

// The kinds of an Error.
const (
	// CredentialsRefused: the service refused the login; this password is not tried again until it changes or a
	// person resets the session.
	CredentialsRefused ErrKind = "credentials_refused"
	// TwoFactorDemanded: the account has two-factor authentication on, which a
	// machine cannot answer (spec, Authentication rule 8).
	TwoFactorDemanded ErrKind = "two_factor"
	// LoginUnreadable: a login may have succeeded, but no tokens could be read from its answer.
	LoginUnreadable ErrKind = "login_unreadable"
	// NoPassword: the configured password is not available.
	NoPassword ErrKind = "no_password"
	// ServiceUnavailable: logins or refreshes fail or must wait.
	ServiceUnavailable ErrKind = "service_unavailable"
	// StoreUnavailable: the shared store does not answer; without it no process may rotate (rule K1).
	StoreUnavailable ErrKind = "store_unavailable"
	// Unauthorized: the service kept answering 401.
	Unauthorized ErrKind = "unauthorized"
	// NotAuthorised: one route refuses what other routes accept.
	NotAuthorised ErrKind = "not_authorised"
	// TimedOut: the caller's context ended while waiting for a session.
	TimedOut ErrKind = "timed_out"
	// Closed: the Manager is closed.
	Closed ErrKind = "closed"
)

// Error is what a Manager returns if there is no session. It holds no token, password or address; the service's words
// are only in Block.Said.
type Error struct {
	Kind ErrKind
	// Public is a sentence for people.
	Public string
	// RetryAfter is how long to wait before another try; 0: unknown or never.
	RetryAfter time.Duration
	// Err is the cause if it adds anything: a context's or the store's error.
	Err error

	// Fault is what kept a login or refresh from tokens, as far as known, whichever process met it.
	Fault reach.Fault
}

func (e *Error) Error() string {
	if e.RetryAfter > 0 {
		return fmt.Sprintf("%s (again in %d s)", e.Public, int64((e.RetryAfter+time.Second-1)/time.Second))
	}
	return e.Public
}

func (e *Error) Unwrap() error { return e.Err }

func storeError(err error) *Error {
	var known *Error
	if errors.As(err, &known) && known.Kind == StoreUnavailable {
		return known
	}
	return &Error{Kind: StoreUnavailable, Public: "the shared store does not answer; without it the session cannot be " +
		"renewed", Err: err}
}

func timedOut(err error, what string) *Error {
	return &Error{Kind: TimedOut, Public: "no session before the deadline: " + what, Err: err}
}

// blockedError is the error of a refused credential; the fault says why.
func blockedError(b Block) *Error {
	e := &Error{Kind: CredentialsRefused, Public: "the service refuses the login",
		Fault: reach.Fault{Class: b.Class, Said: b.Said}}
	switch b.Reason {
	case BlockTwoFactor:
		e.Kind, e.Fault.Class = TwoFactorDemanded, reach.TwoFactor
		e.Public = "the service refuses the login without a two-factor code"
	case BlockUnreadable:
		e.Kind, e.Fault.Status, e.Fault.Key = LoginUnreadable, b.Status, b.Key
		e.Public = "the answer to a login cannot be read: " + b.Said
	}
	return e
}
