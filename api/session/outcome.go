package session

// Outcome is the result of a rotation (rules D1–D7).
type Outcome string

// The outcomes.
const (
	OK         Outcome = "ok"         // D1: a new pair is installed
	NotSent    Outcome = "not_sent"   // D2: provably not sent
	Unknown    Outcome = "unknown"    // D3: may have been processed
	Throttled  Outcome = "throttled"  // D4: 429
	Refused    Outcome = "refused"    // D6, D7: the service said no
	Unreadable Outcome = "unreadable" // a login that may have succeeded: a good status, and no pair that can be read
	TwoFactor  Outcome = "two_factor" // D6: the service requires a TOTP code
	Fenced     Outcome = "fenced"     // C7: successful, but another process has the lease by now
	NoSlot     Outcome = "no_slot"    // F3, F4: no room in the budget of logins or refreshes
	Aborted    Outcome = "aborted"    // stopped before anything was sent
)
