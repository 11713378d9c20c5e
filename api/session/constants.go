package session

import (
	"fmt"
	"time"
)

// Constants are the protocol's durations (section 2.3a).
type Constants struct {
	AuthDeadline time.Duration // D: dial, TLS and answer of one login or refresh
	LeaseHeld    time.Duration
	LeaseSent    time.Duration
	MarginMin    time.Duration
	MarginMax    time.Duration
	QuietGap     time.Duration // between HELD and SENT of a planned refresh (rule B5); 0: none
	PollFirst    time.Duration
	PollMax      time.Duration
	Young        time.Duration // a pair that some replicas may not know yet (rule E3)
}

// Defaults returns the protocol's constants.
func Defaults() Constants {
	return Constants{
		AuthDeadline: 10 * time.Second, LeaseHeld: 5 * time.Second, LeaseSent: 15 * time.Second,
		MarginMin: 15 * time.Second, MarginMax: time.Minute,
		PollFirst: 20 * time.Millisecond, PollMax: 200 * time.Millisecond, Young: 3 * time.Second,
	}
}

// check returns an error unless the constants satisfy the relations that the protocol relies on.
func (c Constants) check() error {
	m := c.margin(documentedAccess)
	for _, r := range []struct {
		ok   bool
		text string
	}{
		{c.AuthDeadline > 0 && c.PollFirst > 0 && c.Young >= 0 && c.MarginMin > 0, "times must be positive"},
		{c.LeaseSent >= c.AuthDeadline+2*time.Second, "lease_sent must be at least the auth deadline and 2 s"},
		{c.LeaseHeld > c.QuietGap+time.Second, "lease_held must exceed the quiet gap by more than 1 s"},
		{c.PollMax < c.LeaseHeld/10 && c.PollFirst <= c.PollMax, "polls must be shorter than a tenth of lease_held"},
		{m >= c.LeaseSent+c.AuthDeadline, "the margin must cover a lost holder and one more attempt"},
		{c.Young < m, "young tokens must be younger than the margin"},
	} {
		if !r.ok {
			return fmt.Errorf("session: constants: %s", r.text)
		}
	}
	return nil
}

// CallerDeadline is the least deadline that a caller should give, so that a crashed holder does not show as an error.
func (c Constants) CallerDeadline() time.Duration {
	return c.LeaseSent + c.AuthDeadline + 5*time.Second
}

// The service's paths of a login and a refresh; the refresh token is appended to the second one.
const (
	AuthPath    = "/v2/auth/"
	LoginPath   = AuthPath + "login"
	RefreshPath = AuthPath + "refresh/"
)
