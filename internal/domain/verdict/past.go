package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"opdeck/api/elapsed"
	"opdeck/api/session"
)

// PastCause names what ended tokens, or kept them from being renewed.
type PastCause string

// The causes of Past.
const (
	NoPast        PastCause = ""
	ItExpired     PastCause = "expired"         // the access token expired
	OurRotation   PastCause = "own_rotation"    // one of our processes replaced the pair
	NotYetKnown   PastCause = "not_yet_known"   // a replica did not know the new pair yet
	ForeignClient PastCause = "foreign_client"  // another client logged in
	ShorterLife   PastCause = "shorter_life"    // tokens end earlier than announced, or another client logs in that often
	StoreWentBack PastCause = "store_went_back" // the store returned to an older state
	StateCopied   PastCause = "state_copied"    // the state folder is a copy; the original may be in use
	ClockJumped   PastCause = "clock"           // a host's clock was set, or it slept
	RotationFails PastCause = "rotation_failed" // a login or refresh failed
	TooMany       PastCause = "too_many"        // our own budget had no call left
	RouteRefuses  PastCause = "route_refuses"   // one route refuses what others accept
	OneRefusal    PastCause = "one_refusal"     // a call was refused, for an unknown reason
	NeverAccepted PastCause = "never_accepted"  // no route accepted the pair
)

// Past is the newest event in the history of a session that ended tokens or kept them from being renewed, explained
// from what the history shows. Its times are the store's, in words as UTC.
type Past struct {
	Cause    PastCause
	At       time.Time // when it happened, as far as known
	Over     time.Time // when a later login, refresh or reset ended it; zero: none has
	Sentence string    // without capital and full stop; "" for none
	Evidence []string
}

// Full is Sentence with a capital and a full stop; "" for none.
func (p Past) Full() string {
	if p.Sentence == "" {
		return ""
	}
	return strings.ToUpper(p.Sentence[:1]) + p.Sentence[1:] + "."
}

// Explain finds the newest such event of a session; the zero Past: there is none.
func Explain(s session.Status) Past {
	for i, e := range slices.Backward(s.History) {
		past := history{s, s.History[:i+1]}
		p := past.explain(e)
		if p.Cause == NoPast || e.Outcome == session.NoSlot && past.failedBefore() {
			continue
		}
		if p.At.IsZero() {
			p.At = e.At
		}
		if next := slices.IndexFunc(s.History[i+1:], session.Event.Ends); next >= 0 {
			p.Over = s.History[i+1+next].At
			if p.Cause == OneRefusal && e.Kind == session.EventUnauthorized { // what followed is known now
				p.Sentence = "one call was refused before the tokens expired"
			}
		}
		return p
	}
	return Past{}
}

// history is that of a session up to an event, which is the last of past.
type history struct {
	now  session.Status
	past []session.Event
}

// failedBefore reports whether a login or refresh failed since the last one that succeeded: a wait for a slot does not
// take the place of that cause.
func (h history) failedBefore() bool {
	for _, e := range slices.Backward(h.past[:len(h.past)-1]) {
		switch {
		case e.Ends():
			return false
		case e.Kind == session.EventBlocked:
			return true
		case e.Kind != session.EventLogin && e.Kind != session.EventRefresh:
		case e.Outcome != session.NoSlot && e.Outcome != session.Aborted && e.Outcome != session.Fenced:
			return true
		}
	}
	return false
}

func (h history) explain(e session.Event) Past {
	switch e.Kind {
	case session.EventPremature:
		return h.premature(e)
	case session.EventRoute:
		return h.route(e)
	case session.EventUnauthorized:
		return h.unauthorized(e)
	case session.EventRollback:
		return rollback(e)
	case session.EventClock:
		return Past{Cause: ClockJumped,
			Sentence: fmt.Sprintf("the clock of %s jumped by %s: it was set, or the machine slept", e.Owner.Host,
				short(e.Took)),
			Evidence: []string{"the wall clock and the monotonic clock drifted apart between two checks"}}
	case session.EventBlocked:
		return failed(e, "login")
	case session.EventLogin, session.EventRefresh:
		if e.Outcome != session.OK {
			return h.rotation(e)
		}
	}
	return Past{}
}

func (h history) unauthorized(e session.Event) Past {
	p := Past{Evidence: []string{fmt.Sprintf("a call with generation %d was refused at %s", e.Gen, clock(e.At))}}
	switch e.Reason {
	case session.OtherPair, session.OnItsWay:
		p.Cause = OurRotation
		p.Sentence = "one of our own processes replaced the tokens during a call; the call was sent again"
		for _, r := range h.past {
			if r.Rotated() && r.Gen == e.Gen+1 {
				p.At = r.At
				p.Sentence = fmt.Sprintf("our own %s at %s (%s) replaced the tokens during a call; the call was sent again",
					r.Kind, clock(r.At), process(r.Owner))
				p.Evidence = append(p.Evidence, fmt.Sprintf("%s made generation %d at %s, fence %d", process(r.Owner), r.Gen,
					clock(r.At), r.Fence))
				break
			}
		}
	case session.Expired:
		p.Cause, p.Sentence = ItExpired, "the access token had expired; it was replaced"
		p.Evidence = append(p.Evidence, fmt.Sprintf("the tokens were %s old and had %s left", short(e.Age), short(e.Left)))
	case session.YoungPair:
		p.Cause = NotYetKnown
		p.Sentence = "the service did not know the new token everywhere yet; the call was repeated"
		p.Evidence = append(p.Evidence, fmt.Sprintf("the tokens were only %s old", short(e.Age)))
	case session.RouteOnly:
		return h.route(e)
	default:
		p.Cause = OneRefusal
		p.Sentence = "one call was refused before the tokens expired; the next calls show whether the session is over"
	}
	return p
}

// route explains a route that refuses a pair which another route accepts.
func (h history) route(e session.Event) Past {
	p := Past{Cause: RouteRefuses, Sentence: "the service refuses calls of " + routeName(e.Route) +
		" but accepts the session for others: the account is not authorised for them"}
	for _, shown := range slices.Backward(h.past) { // the newest one counts
		if shown.Kind == session.EventRoute && shown.Route == e.Route {
			p.Evidence = []string{fmt.Sprintf("%s accepted generation %d after this route had refused it, at %s",
				routeName(shown.By), shown.Gen, clock(shown.At))}
			return p
		}
	}
	p.Evidence = []string{fmt.Sprintf("%s refused generation %d at %s", routeName(e.Route), e.Gen, clock(e.At))}
	return p
}

func routeName(route string) string {
	if route == "" {
		return "one path"
	}
	return route
}

// premature explains why a pair died before it expired. Another client is named only where nothing that the history
// shows explains it otherwise, and never alone: the service can end tokens without one.
func (h history) premature(e session.Event) Past {
	p, refused := Past{At: e.At}, e
	for _, u := range slices.Backward(h.past) { // the first refused call is closest to the cause
		if u.Kind == session.EventUnauthorized && u.Reason == session.Early && u.Gen == e.Gen && u.Session == e.Session {
			p.At, refused = u.At, u
		}
	}
	p.Evidence = []string{fmt.Sprintf("generation %d was refused at %s, %s old, with %s left", e.Gen, clock(p.At),
		short(e.Age), short(e.Left))}
	if e.Route != "" {
		p.Evidence[0] += ", by " + e.Route
	}
	if e.By != "" {
		p.Evidence = append(p.Evidence, e.By+" refused it as well, at "+clock(e.At))
	}
	if s := refused.Served; !s.IsZero() && s.Sub(refused.At).Abs() >= 2*time.Second { // a Date has whole seconds
		p.Evidence = append(p.Evidence, "by the service's clock that was at "+clock(s))
	}
	if flaw := h.undated(e); flaw != "" {
		p.Cause = OneRefusal
		p.Sentence = "calls were refused before the tokens expired; opdeck does not know what ended them, because " + flaw
		return p
	}
	if c, ok := h.recent(session.EventClock, e.At, 10*time.Minute); ok && c.Took.Abs() > e.Left {
		p.Cause = ClockJumped
		p.Sentence = fmt.Sprintf("the clock of %s jumped by %s, so the token was older than it seemed", c.Owner.Host,
			short(c.Took))
		return p
	}
	if back, ok := h.recent(session.EventRollback, e.At, time.Minute); ok {
		return rollback(back)
	}
	if life := h.now.EndsAfter; life > 0 {
		p.Cause = ShorterLife
		p.Sentence = fmt.Sprintf("access tokens end after about %s: the service ends them earlier than announced, or "+
			"another client logs in that often", short(life))
		p.Evidence = append(p.Evidence, "tokens were revoked twice in a row at nearly the same age")
		return p
	}
	if e.By != "" && !e.Known {
		p.Cause, p.Sentence = NeverAccepted, "the service refused its own new tokens on every call"
		return p
	}
	for _, c := range slices.Backward(h.past) {
		if c.Kind == session.EventRollback && c.Reason == string(session.Copied) && e.At.Sub(c.At) < 24*time.Hour {
			copied := rollback(c)
			copied.At, copied.Evidence = p.At, append(p.Evidence, copied.Evidence...)
			return copied
		}
	}
	p.Cause = ForeignClient
	p.Sentence = "our tokens were revoked at about " + clock(p.At) + ": another client logged in or refreshed, " +
		"or the service ended them"
	p.Evidence = append(p.Evidence, "none of our processes that share this store replaced this generation before it was "+
		"refused; a copy of the state folder that is in use elsewhere looks the same")
	deaths := 0
	for _, d := range h.past {
		if d.Kind == session.EventPremature && e.At.Sub(d.At) < 10*time.Minute {
			deaths++
		}
	}
	if deaths > 1 {
		p.Evidence = append(p.Evidence, fmt.Sprintf("it happened %d times within ten minutes", deaths))
	}
	return p
}

// undated is why it is not known that a pair was refused while it was the current one; "" if it is.
func (h history) undated(e session.Event) string {
	if e.At.After(h.now.AsOf) {
		return "the store's clock was set back since"
	}
	for _, r := range h.past {
		if r.Rotated() && r.Gen == e.Gen && r.Session == e.Session && !e.At.After(r.At) {
			return "by the store's clock they came later"
		}
	}
	return ""
}

// recent finds the newest event of kind in the period d before at.
func (h history) recent(kind session.EventKind, at time.Time, d time.Duration) (session.Event, bool) {
	for _, e := range slices.Backward(h.past) {
		if e.Kind == kind && at.Sub(e.At) <= d {
			return e, true
		}
	}
	return session.Event{}, false
}

// rollback explains a store that returned to an older state, or a state folder that is a copy.
func rollback(e session.Event) Past {
	if e.Reason == string(session.Copied) {
		return Past{Cause: StateCopied, At: e.At, Sentence: "this state folder is a copy of another one, or was moved; " +
			"it logged in to get its own tokens. If both are in use, each login ends the other's session: use one only",
			Evidence: []string{fmt.Sprintf("the marker file beside the store (generation %d) was written for another store file",
				e.Gen)}}
	}
	return Past{Cause: StoreWentBack, At: e.At, Sentence: "the shared store returned to an older state (restored " +
		"from a backup?); a new login fixed it",
		Evidence: []string{fmt.Sprintf("generation %d, fence %d were read after higher ones", e.Gen, e.Fence)}}
}

// rotation explains a login or refresh without a pair.
func (h history) rotation(e session.Event) Past {
	p := failed(e, string(e.Kind))
	switch e.Outcome {
	case session.NoSlot:
		p.Cause, p.Sentence = TooMany, fmt.Sprintf("a %s waited for its budget", e.Kind)
	case session.Fenced, session.Aborted:
		p.Cause, p.Sentence = OurRotation, fmt.Sprintf("%s stopped during a %s and another of our processes took over",
			process(e.Owner), e.Kind)
	case session.Refused:
		if e.Kind == session.EventRefresh && e.Status != 404 && e.Status != 410 { // there the route is missing
			p.Sentence += "; another client logged in or refreshed before, or the service ended the tokens early"
		}
	}
	return p
}

// failed explains a login or refresh that failed, in the words of its fault.
func failed(e session.Event, kind string) Past {
	p := Past{Cause: RotationFails, Sentence: "a " + kind + " failed",
		Evidence: []string{fmt.Sprintf("%s of %s at %s", kind, process(e.Owner), clock(e.At))}}
	what := e.Fault.String()
	if what == "" && e.Status != 0 {
		what = fmt.Sprintf("HTTP status %d", e.Status)
	}
	if what != "" {
		p.Sentence += ": " + what
	}
	if e.Detail != "" {
		p.Evidence = append(p.Evidence, e.Detail)
	}
	return p
}

func process(o session.Owner) string {
	if o.Host == "" {
		return "one of our processes"
	}
	return fmt.Sprintf("%s, process %d", o.Host, o.PID)
}

// short formats a duration; a negative one is of a token that expired that long ago.
func short(d time.Duration) string {
	if d < 0 {
		return "-" + elapsed.Text(-d)
	}
	return elapsed.Text(d)
}
