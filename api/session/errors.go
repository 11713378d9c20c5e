package session

import (
	"errors"
	"fmt"
	"time"

	"opdeck/api/evidence"
	"opdeck/api/reach"
)

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

	// Why is the evidence of a NotAuthorised error.
	Why evidence.Conclusion

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
