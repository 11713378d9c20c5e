package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"opdeck/api/elapsed"
	"opdeck/api/evidence"
	"opdeck/api/limit"
	"opdeck/api/reach"
)

// Cause is the diagnosed cause of a problem.
type Cause string

// The causes.
const (
	NoCause       Cause = ""                // nothing went wrong
	ItExpired     Cause = "expired"         // the access token expired
	OurRotation   Cause = "own_rotation"    // one of our processes replaced the pair
	NotYetKnown   Cause = "not_yet_known"   // a replica did not know the new pair yet
	ForeignClient Cause = "foreign_client"  // another client logged in
	ShorterLife   Cause = "shorter_life"    // tokens expire earlier than announced
	RevokedPair   Cause = "revoked"         // revoked, and the login is refused as well
	TwoFactorOn   Cause = "two_factor"      // the login requires a code
	BadPassword   Cause = "password"        // login or password refused
	NotReadable   Cause = "unreadable"      // logins succeed, but their answer cannot be read
	StoreWentBack Cause = "store_went_back" // the store returned to an older state
	StateCopied   Cause = "state_copied"    // the state folder is a copy; the original may be in use
	ClockJumped   Cause = "clock"           // a host's clock was set, or it slept
	LostAnswer    Cause = "lost_answer"     // the answer to a login or refresh was lost
	Unreachable   Cause = "unreachable"     // the service cannot be reached
	TooMany       Cause = "too_many"        // 429, or our own budget
	PasswordAway  Cause = "no_password"     // this host could not read the password
	RouteRefuses  Cause = "route_refuses"   // one route refuses what others accept
	OneRefusal    Cause = "one_refusal"     // one call was refused, for an unknown reason
	NeverAccepted Cause = "never_accepted"  // no route accepted the pair
)

// Verdict is the diagnosis of the newest problem.
type Verdict struct {
	Cause    Cause
	At       time.Time // when it happened, as far as known, by the store's clock
	Sentence string    // for people; its times are the store's, marked as UTC
	Evidence []string  // the facts behind the sentence
	Healed   bool      // a later rotation succeeded, or the session was reset
	Over     time.Time // when it healed; zero while the problem lasts

	Why []evidence.Conclusion // the conclusions in the sentence, with the calls that show them
}

// Full is Sentence with a capital and a full stop; "" for none.
func (v Verdict) Full() string {
	if v.Sentence == "" {
		return ""
	}
	return strings.ToUpper(v.Sentence[:1]) + v.Sentence[1:] + "."
}

// Diagnose explains the newest problem in a history (oldest first), given the current row. It is a pure function.
func Diagnose(events []Event, row Row) Verdict {
	for i, e := range slices.Backward(events) {
		explain := explainer(e)
		if explain == nil || e.Outcome == NoSlot && failedBefore(events[:i]) {
			continue
		}
		v := explain(events[:i+1], e, row)
		if next := slices.IndexFunc(events[i+1:], Event.ends); next >= 0 {
			v.Healed, v.Over = true, events[i+1+next].At
			if v.Cause == OneRefusal && e.Kind == EventUnauthorized {
				v.Sentence = "one call was refused before the tokens expired" // what followed is known now
			}
		}
		return v
	}
	return Verdict{}
}

// failedBefore reports whether a login or refresh failed since the last one that succeeded: a wait for a slot does not
// take the place of that cause.
func failedBefore(past []Event) bool {
	for _, e := range slices.Backward(past) {
		if e.ends() {
			return false
		}
		if (e.Kind == EventLogin || e.Kind == EventRefresh) && e.Outcome != NoSlot && e.Outcome != Aborted &&
			e.Outcome != Fenced || e.Kind == EventBlocked {
			return true
		}
	}
	return false
}

// ends reports whether e ends earlier problems: they concerned a pair or block that is gone.
func (e Event) ends() bool { return e.rotated() || e.Kind == EventReset }

// rotated reports whether e installed a pair.
func (e Event) rotated() bool {
	return (e.Kind == EventLogin || e.Kind == EventRefresh) && e.Outcome == OK
}

// explainer returns the function that explains e; nil if e is not a problem.
func explainer(e Event) func([]Event, Event, Row) Verdict {
	switch e.Kind {
	case EventBlocked:
		return explainBlocked
	case EventPremature:
		return explainPremature
	case EventRoute:
		return explainRoute
	case EventUnauthorized:
		return explainUnauthorized
	case EventRollback:
		return explainRollback
	case EventClock:
		return explainClock
	case EventLogin, EventRefresh:
		if e.Outcome != OK {
			return explainRotation
		}
	}
	return nil
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

// byService gives the service's time of the event if it differs from the store's, for the service operator's log.
func (e Event) byService() []string {
	if e.Served.IsZero() || e.Served.Sub(e.At).Abs() < 2*time.Second { // a Date header has whole seconds
		return nil
	}
	return []string{"by the service's clock that was at " + clock(e.Served)}
}

func (o Owner) name() string {
	if o.Host == "" {
		return "one of our processes"
	}
	return fmt.Sprintf("%s, process %d", o.Host, o.PID)
}

func explainUnauthorized(past []Event, e Event, row Row) Verdict {
	v := Verdict{At: e.At, Evidence: []string{fmt.Sprintf("a call with generation %d was refused at %s", e.Gen,
		clock(e.At))}}
	switch e.Reason {
	case OtherPair, OnItsWay:
		v.Cause = OurRotation
		v.Sentence = "one of our own processes replaced the tokens during a call; the call was sent again"
		if r, ok := replacedBy(past, e.Gen); ok {
			v.At = r.At
			v.Sentence = fmt.Sprintf("our own %s at %s (%s) replaced the tokens during a call; the call was sent again", r.Kind,
				clock(r.At), r.Owner.name())
			v.Evidence = append(v.Evidence, fmt.Sprintf("%s made generation %d at %s, fence %d", r.Owner.name(), r.Gen,
				clock(r.At), r.Fence))
		}
	case Expired:
		v.Cause = ItExpired
		v.Sentence = "the access token had expired; it was replaced"
		v.Evidence = append(v.Evidence, fmt.Sprintf("the tokens were %s old and had %s left", short(e.Age), short(e.Left)))
	case YoungPair:
		v.Cause = NotYetKnown
		v.Sentence = "the service did not know the new token everywhere yet; the call was repeated"
		v.Evidence = append(v.Evidence, fmt.Sprintf("the tokens were only %s old", short(e.Age)))
	case RouteOnly:
		return explainRoute(past, e, row)
	default:
		v.Cause = OneRefusal
		v.Sentence = "one call was refused before the tokens expired; the next calls show whether the session is over"
	}
	return v
}

// explainRoute explains a route that refuses a pair which another route accepts.
func explainRoute(past []Event, e Event, row Row) Verdict {
	v := Verdict{Cause: RouteRefuses, At: e.At, Sentence: "the service refuses calls of " + routeName(e.Route) +
		" but accepts the session for others: the account is not authorised for them",
		Evidence: []string{fmt.Sprintf("%s refused generation %d at %s", routeName(e.Route), e.Gen, clock(e.At))}}
	at := -1
	for i, p := range past { // the newest one counts
		if p.Kind == EventRoute && p.Route == e.Route {
			at = i
		}
	}
	if at < 0 {
		return v
	}
	shown := past[at]
	v.because(forbidden(shown, row))
	for _, p := range slices.Backward(past[:at]) {
		if p.Kind == EventUnauthorized && p.Route == e.Route {
			v.Evidence[0] = fmt.Sprintf("%s refused generation %d at %s", routeName(e.Route), p.Gen, clock(p.At))
			break
		}
	}
	v.Evidence = append(v.Evidence, fmt.Sprintf("%s accepted generation %d afterwards, at %s", shown.By, shown.Gen,
		clock(shown.At)))
	return v
}

// routeName formats a route for people.
func routeName(route string) string {
	if route == "" {
		return "one path"
	}
	return route
}

// replacedBy finds the rotation that replaced generation gen.
func replacedBy(past []Event, gen int64) (Event, bool) {
	for _, e := range past {
		if e.rotated() && e.Gen == gen+1 {
			return e, true
		}
	}
	return Event{}, false
}

// explainPremature explains why a pair died before it expired.
func explainPremature(past []Event, e Event, row Row) Verdict {
	v, refused := Verdict{Cause: ForeignClient, At: e.At}, e
	for _, u := range slices.Backward(past) { // the first refused call is closest to the cause
		if u.Kind == EventUnauthorized && u.Reason == Early && u.Gen == e.Gen && u.Session == e.Session {
			v.At, refused = u.At, u
		}
	}
	v.Evidence = []string{fmt.Sprintf("generation %d was refused at %s, %s old, with %s left", e.Gen, clock(v.At),
		short(e.Age), short(e.Left))}
	if e.Route != "" {
		v.Evidence[0] += ", by " + e.Route
	}
	if e.By != "" {
		v.Evidence = append(v.Evidence, e.By+" refused it as well, at "+clock(e.At))
	}
	v.Evidence = append(v.Evidence, refused.byService()...)
	if !v.because(dead(past, e, row)) {
		v.Cause = OneRefusal
		v.Sentence = "calls were refused before the tokens expired; opdeck does not know what ended them, because " +
			v.Why[0].Open
		return v
	}
	if c, ok := recent(past, e.At, EventClock, 10*time.Minute); ok && c.Took.Abs() > e.Left {
		v.Cause = ClockJumped
		v.Sentence = fmt.Sprintf("the clock of %s jumped by %s, so the token was older than it seemed", c.Owner.Host,
			short(c.Took))
		return v
	}
	if _, ok := recent(past, e.At, EventRollback, time.Minute); ok {
		return explainRollback(past, e, row)
	}
	deaths := 0
	for _, p := range past {
		if p.Kind == EventPremature && e.At.Sub(p.At) < 10*time.Minute {
			deaths++
		}
	}
	if life := row.learnt(); life > 0 {
		v.Cause = ShorterLife
		v.Sentence = fmt.Sprintf("access tokens end after about %s: the service ends them earlier than announced, or "+
			"another "+
			"client logs in that often", short(life))
		v.Evidence = append(v.Evidence, "tokens were revoked twice in a row at nearly the same age")
		return v
	}
	if e.By != "" && !e.Known {
		v.Cause = NeverAccepted
		v.Sentence = "the service refused its own new tokens on every call"
		return v
	}
	if c, ok := copyIn(past, e.At); ok {
		copied := explainCopy(c)
		copied.At, copied.Evidence = v.At, append(v.Evidence, copied.Evidence...)
		return copied
	}
	v.because(foreign(past, e, row))
	v.Sentence = fmt.Sprintf("another client logged in or refreshed at about %s and revoked our tokens", clock(v.At))
	v.Evidence = append(v.Evidence, "none of our processes that share this store replaced this generation before it was "+
		"refused; a copy of the state folder that is in use elsewhere looks the same")
	if deaths > 1 {
		v.Evidence = append(v.Evidence, fmt.Sprintf("it happened %d times within ten minutes", deaths))
	}
	return v
}

// copyIn finds a notice within the last day that the state folder is a copy.
func copyIn(past []Event, at time.Time) (Event, bool) {
	for _, e := range slices.Backward(past) {
		if e.Kind == EventRollback && e.Reason == string(Copied) && at.Sub(e.At) < 24*time.Hour {
			return e, true
		}
	}
	return Event{}, false
}

// recent finds the newest event of kind in the period d before at.
func recent(past []Event, at time.Time, kind EventKind, d time.Duration) (Event, bool) {
	for _, e := range slices.Backward(past) {
		if e.Kind == kind && at.Sub(e.At) <= d {
			return e, true
		}
	}
	return Event{}, false
}

func explainBlocked(past []Event, e Event, _ Row) Verdict {
	v := Verdict{Cause: BadPassword, At: e.At, Sentence: "the service refuses the login and password; opdeck does " +
		"not try them again until they change or you reset the session",
		Evidence: []string{fmt.Sprintf("%s answered the login of %s", status(e.Status), e.Owner.name())}}
	if e.Reason == BlockTwoFactor {
		v.Cause = TwoFactorOn
		v.Sentence = "the service requires a two-factor code, which a machine account cannot give; switch two-factor " +
			"authentication off for it"
		return v
	}
	if e.Reason == BlockUnreadable {
		v.Cause = NotReadable
		v.Sentence = "the answer to a login cannot be read; the login may have succeeded, so opdeck does not repeat it for " +
			"five minutes, unless the config or the program changes or a person logs in"
		v.Evidence = append(v.Evidence, e.Fault.String())
		return v
	}
	if e.Reason == BlockUnclear {
		v.Sentence = "the service refuses the login, and its answer does not say why: the login or the password is wrong, " +
			"or a two-factor code is required; opdeck does not try again until they change or you reset the session"
	}
	switch e.Fault.Class {
	case reach.Locked, reach.Disabled, reach.Refused:
		v.Sentence = "the service refuses the login: " + e.Fault.String()
		return v
	}
	if p, ok := recent(past, e.At, EventPremature, 5*time.Minute); ok && e.Reason != BlockUnclear {
		v.Cause, v.At = RevokedPair, p.At
		v.Sentence = fmt.Sprintf("the tokens were revoked at about %s and the login is refused as well: the password was "+
			"changed or the account is locked", clock(v.At))
		v.Evidence = append(v.Evidence, fmt.Sprintf("generation %d was revoked after %s", p.Gen, short(p.Age)))
	}
	return v
}

// explainCopy explains a state folder that is a copy.
func explainCopy(e Event) Verdict {
	return Verdict{Cause: StateCopied, At: e.At, Sentence: "this state folder is a copy of another one, or was moved; " +
		"it logged in to get its own tokens. If both are in use, each login ends the other's session: use one only",
		Evidence: []string{fmt.Sprintf("the marker file beside the store (generation %d) was written for another store file",
			e.Gen)}}
}

func explainRollback(_ []Event, e Event, _ Row) Verdict {
	if e.Reason == string(Copied) {
		return explainCopy(e)
	}
	return Verdict{Cause: StoreWentBack, At: e.At, Sentence: "the shared store returned to an older state (restored " +
		"from a backup?); a new login fixed it",
		Evidence: []string{fmt.Sprintf("generation %d, fence %d were read after higher ones", e.Gen, e.Fence)}}
}

func explainClock(_ []Event, e Event, _ Row) Verdict {
	return Verdict{Cause: ClockJumped, At: e.At, Sentence: fmt.Sprintf(
		"the clock of %s jumped by %s: it was set, or the machine slept", e.Owner.Host, short(e.Took)),
		Evidence: []string{"the wall clock and the monotonic clock drifted apart between two checks"}}
}

func explainRotation(past []Event, e Event, row Row) Verdict {
	v := Verdict{At: e.At, Evidence: []string{fmt.Sprintf("%s of %s at %s: %s", e.Kind, e.Owner.name(), clock(e.At),
		e.Outcome)}}
	switch {
	case e.Fault.Class != reach.None:
		v.Evidence = append(v.Evidence, e.Fault.String())
	case e.Status != 0:
		v.Evidence = append(v.Evidence, status(e.Status))
	}
	if e.Detail != "" {
		v.Evidence = append(v.Evidence, e.Detail)
	}
	switch e.Outcome {
	case NotSent:
		v.Cause, v.Sentence = Unreachable, fmt.Sprintf("a %s could not be sent", e.Kind)
		if e.Fault.Class == reach.NoPassword {
			v.Cause, v.Sentence = PasswordAway, e.Owner.name()+" could not read the password of the machine account"
		}
	case Throttled:
		v.Cause, v.Sentence = TooMany, fmt.Sprintf("the service answered a %s with too many requests", e.Kind)
	case NoSlot:
		v.Cause, v.Sentence = TooMany, fmt.Sprintf("a %s waited for its budget", e.Kind)
	case TwoFactor, Refused, Unreadable:
		if e.Kind == EventLogin || e.Outcome == TwoFactor {
			b := e
			b.Reason = map[Outcome]string{TwoFactor: BlockTwoFactor, Refused: BlockRefused,
				Unreadable: BlockUnreadable}[e.Outcome]
			return explainBlocked(past, b, row)
		}
		v.Cause = ForeignClient
		e.Route = "the refresh"
		v.because(dead(past, e, row))
		v.because(foreign(past, e, row))
		v.Sentence = fmt.Sprintf("the refresh token was refused at %s: another client logged in or refreshed before",
			clock(v.At))
	case Fenced, Aborted:
		v.Cause, v.Sentence = OurRotation, fmt.Sprintf("%s stopped during a %s and another of our processes took over",
			e.Owner.name(), e.Kind)
	default:
		v.Cause, v.Sentence = LostAnswer, fmt.Sprintf("a %s was sent, and no usable answer came back", e.Kind)
	}
	return v
}

func status(code int) string { return fmt.Sprintf("HTTP status %d", code) }

// short formats a duration; a negative one is of a token that expired that long ago.
func short(d time.Duration) string {
	if d < 0 {
		return "-" + elapsed.Text(-d)
	}
	return elapsed.Text(d)
}

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

// whys words the reasons of events.
var whys = map[string]string{
	reasonFirst: "there were no tokens", reasonDoubtful: "the tokens were possibly revoked",
	reasonDue:    "the tokens were due for a refresh",
	reasonLapsed: "the refresh token had expired",
	reasonGone:   "the process that refreshed them had ended", reasonRollback: "the store returned to an older state",
	reasonRefused:  "the tokens were revoked",
	reasonAsked:    "on request",
	string(Copied): "the state folder is a copy, or was moved", string(Restored): "an older state of the store",
	OtherPair: "newer tokens had replaced these", OnItsWay: "new tokens were on the way", Expired: "the token had expired",
	YoungPair:    "the tokens were new",
	Early:        "before the token expired",
	RouteOnly:    "not authorised for this route",
	BlockRefused: "login and password", BlockTwoFactor: "a two-factor code is required",
	BlockUnclear:    "login, password or a missing code",
	BlockUnreadable: "the answer to the login cannot be read",
}

// Why is the reason in words; an unknown reason is returned unchanged.
func (e Event) Why() string {
	if words, known := whys[e.Reason]; known {
		return words
	}
	return e.Reason
}

// Why says in words what the service refused.
func (b Block) Why() string { return Event{Reason: b.Reason}.Why() }
