package session

// Outcome is how a rotation ended (rules D1–D7).
type Outcome string

// The outcomes.
const (
	OK         Outcome = "ok"         // D1: a new pair is installed
	NotSent    Outcome = "not_sent"   // D2: provably never left this host
	Unknown    Outcome = "unknown"    // D3: may have been processed
	Throttled  Outcome = "throttled"  // D4: 429
	Refused    Outcome = "refused"    // D6, D7: the service said no
	Unreadable Outcome = "unreadable" // a login succeeded, and its answer holds no pair that can be read
	TwoFactor  Outcome = "two_factor" // D6: a TOTP code was demanded
	Fenced     Outcome = "fenced"     // C7: good, but the lease had passed on
	NoSlot     Outcome = "no_slot"    // F3, F4: no room in the budget of logins or refreshes
	Aborted    Outcome = "aborted"    // given up before anything was sent
)
