// Package verdict concludes from facts what is wrong, since when, what to do and who can do it. It is pure: it reads no
// clock, store or network. Every surface prints its result and concludes nothing by itself.
package verdict

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Severity of a finding.
type Severity int

// The severities, mildest first.
const (
	Info Severity = iota
	Warning
	Critical
)

func (s Severity) String() string { return [...]string{"info", "warning", "critical"}[s] }

// Part is what a finding is about; opdeck check takes these names.
type Part string

// The parts.
const (
	PartConfig      Part = "config"
	PartService     Part = "service"
	PartSession     Part = "session"
	PartStore       Part = "store"
	PartIndex       Part = "index"
	PartFeed        Part = "feed"
	PartAudit       Part = "audit"
	PartWrites      Part = "writes"
	PartCertificate Part = "certificate"
	PartClock       Part = "clock"
	PartBudget      Part = "budget"
	PartServe       Part = "serve"
)

// Parts returns all parts, in the order of causes.
func Parts() []Part {
	return []Part{PartConfig, PartStore, PartClock, PartService, PartCertificate, PartSession, PartBudget, PartAudit,
		PartWrites, PartFeed, PartIndex, PartServe}
}

// Who can carry out the next step.
type Who string

// The people.
const (
	Operator Who = "the administrator of this host"
	Admin    Who = "your opdeck administrator"
	Provider Who = "the service's support"
)

// Next is the next step.
type Next struct {
	Do      string `json:"do"`                // a sentence
	Command string `json:"command,omitempty"` // "opdeck session reset"
}

// Finding is one cause with its evidence.
type Finding struct {
	Cause    Cause      `json:"cause"`
	Part     Part       `json:"part"`
	Severity Severity   `json:"-"`
	Sentence string     `json:"sentence"`
	Since    time.Time  `json:"since,omitzero"`
	Try      time.Time  `json:"next_try,omitzero"` // when opdeck tries again by itself; zero: not by itself, or not known
	Evidence []Evidence `json:"evidence"`
	Next     Next       `json:"next"`
	Who      Who        `json:"who"`
	Follows  Cause      `json:"follows,omitempty"` // the earlier finding that explains this one

	dated     bool   // Sentence has the time of Since
	first     string // names it in Facts.Began; "": its facts tell its beginning
	concluded time.Time
}

// State of a part.
type State int

// The states: a part is good only if a fact that still holds shows it.
const (
	Unknown State = iota
	Good
	Warned
	Bad
)

func (s State) String() string { return [...]string{"not known", "good", "warning", "critical"}[s] }

// Verdict is what follows from the facts: the first finding is the cause.
type Verdict struct {
	At       time.Time
	Findings []Finding
	states   map[Part]State
	shows    map[Part]string
	off      map[Part]bool
}

// First returns the cause; ok is false if nothing is wrong as far as known. An Info is no cause.
func (v Verdict) First() (f Finding, ok bool) {
	if len(v.Findings) == 0 || v.Findings[0].Severity == Info {
		return f, false
	}
	return v.Findings[0], true
}

// Shows returns the fact that shows a part to be good, or why nothing is known of it; "" for neither.
func (v Verdict) Shows(p Part) string { return v.shows[p] }

// Off reports whether the config switches a part off, so that there is nothing to know of it.
func (v Verdict) Off(p Part) bool { return v.off[p] && v.states[p] == Unknown }

// Stale returns the verdict as it may be used after its facts have lapsed: what was found is still said, and nothing is
// good.
func (v Verdict) Stale() Verdict {
	out := Verdict{At: v.At, Findings: v.Findings, states: map[Part]State{}}
	out.judge()
	return out
}

// Of returns the state of a part.
func (v Verdict) Of(p Part) State { return v.states[p] }

// In returns the findings about a part.
func (v Verdict) In(p Part) []Finding {
	var out []Finding
	for _, f := range v.Findings {
		if f.Part == p {
			out = append(out, f)
		}
	}
	return out
}

// Conclude returns the verdict on facts. Its result depends on nothing else.
func Conclude(f Facts) Verdict {
	v := Verdict{At: f.Now, states: map[Part]State{}}
	for _, c := range causes() {
		hits := c.found(f)
		keys := map[string]string{} // by sentence
		for i, h := range hits {
			if h.since.IsZero() && len(h.evidence) > 0 {
				keys[h.says] = c.key(f, h)
				hits[i].since = f.began(keys[h.says], h.evidence[0].At)
			}
		}
		slices.SortStableFunc(hits, func(a, b hit) int {
			return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.says, b.says))
		})
		for _, h := range hits {
			if len(h.evidence) == 0 {
				continue // nothing is concluded without evidence
			}
			slices.SortFunc(h.evidence, func(a, b Evidence) int {
				return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Text, b.Text), cmp.Compare(a.From, b.From))
			})
			next := cmp.Or(h.next, c.next)
			v.Findings = append(v.Findings, Finding{Cause: c.id, Part: c.part, Severity: c.severity, Sentence: h.says,
				Since: h.since, Try: h.tried(f.Now), Evidence: h.evidence, Next: next, Who: cmp.Or(h.who, c.who),
				dated: c.dated, first: keys[h.says], concluded: f.Now})
		}
	}
	slices.SortStableFunc(v.Findings, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	v.relate()
	v.show(f)
	v.judge()
	return v
}

// hostMark is before the host in the key of a cause that others may not have.
const hostMark = " on "

// key names a cause in Facts.Began.
func (c cause) key(f Facts, h hit) string {
	out := string(c.id)
	if h.of != "" {
		out += " " + h.of
	}
	if c.here {
		out += hostMark + f.Host
	}
	return out
}

// began is when a cause was first seen, in whole seconds; zero: not known. at is when its evidence was seen.
func (f Facts) began(key string, at time.Time) time.Time {
	if first, is := f.Began[key]; is || f.Fresh {
		return first
	}
	return at.Truncate(time.Second)
}

// FirstSeen returns when each cause was first seen whose facts do not tell its beginning: what Facts.Began keeps.
func (v Verdict) FirstSeen() map[string]time.Time {
	out := map[string]time.Time{}
	for _, f := range v.Findings {
		if f.first != "" {
			out[f.first] = f.Since
		}
	}
	return out
}

// SeenOn reports whether a key of FirstSeen is of a cause that a host would see: one of all, or its own.
func SeenOn(key, host string) bool {
	_, at, here := strings.Cut(key, hostMark)
	return !here || at == host
}

// relate marks the findings that an earlier one explains.
func (v *Verdict) relate() {
	explains := map[Cause][]Part{}
	for _, c := range causes() {
		explains[c.id] = c.explains
	}
	for i := range v.Findings {
		for _, first := range v.Findings[:i] {
			if slices.Contains(explains[first.Cause], v.Findings[i].Part) {
				v.Findings[i].Follows = first.Cause
				break
			}
		}
	}
}

// judge sets the state of each part with a finding.
func (v *Verdict) judge() {
	for _, found := range v.Findings {
		switch state := v.states[found.Part]; {
		case found.Severity == Critical:
			v.states[found.Part] = Bad
		case found.Severity == Warning && state != Bad:
			v.states[found.Part] = Warned
		}
	}
}

// StateOf is the worst state of some parts. Of a part that is not needed, nothing known counts as nothing wrong.
func (v Verdict) StateOf(parts ...Part) State {
	out := Good
	for _, p := range parts {
		switch s := v.states[p]; {
		case s == Bad:
			return Bad
		case s == Warned:
			out = Warned
		case s == Unknown && out == Good && (len(parts) == 1 || slices.Contains(needed(), p)):
			out = Unknown
		}
	}
	return out
}

// show sets which parts a fact that still holds shows to be good, and what each state rests on.
func (v *Verdict) show(f Facts) {
	v.shows = map[Part]string{}
	v.off = map[Part]bool{PartServe: len(f.Serves) == 0}
	if d, known := f.Feed.at(f.Now); known && !d.Expected {
		v.off[PartFeed] = true
	}
	for part, shown := range map[Part]func(Facts) (bool, string){PartConfig: showConfig, PartStore: showStore,
		PartClock: showClock, PartService: showService, PartCertificate: showCertificate, PartSession: showSession,
		PartBudget: showBudget, PartAudit: showAudit, PartWrites: showWrites, PartFeed: showFeed, PartIndex: showIndex,
		PartServe: showServe} {
		good, because := shown(f)
		if good {
			v.states[part] = Good
		}
		if because != "" {
			v.shows[part] = because
		}
	}
}

func showConfig(f Facts) (bool, string) {
	if c, known := f.Config.at(f.Now); known && len(c.Mistakes) == 0 {
		return true, "the config is valid"
	}
	return false, ""
}

func showStore(f Facts) (bool, string) {
	store, known := f.Store.at(f.Now)
	if !known || store.State != StoreGood {
		return false, ""
	}
	return true, store.Engine + " was read at " + clock(f.Store.At)
}

func showClock(f Facts) (bool, string) {
	c, known := f.Clock.at(f.Now)
	if !known {
		return false, ""
	}
	return true, "differs from the service's by " + span(c.Ahead.Abs())
}

func showCertificate(f Facts) (bool, string) {
	c, known := f.Certificate.at(f.Now)
	if !known {
		return false, ""
	}
	return true, "valid until " + day(c.Until)
}

func showService(f Facts) (bool, string) {
	if !reached(f) {
		return false, "no recent good answer"
	}
	var newest Call // with a login, if there is one
	for _, one := range f.Calls {
		c, known := one.at(f.Now)
		if known && !c.Good.IsZero() && (newest.Class == "" || newest.probe() && !c.probe() ||
			newest.probe() == c.probe() && c.Good.After(newest.Good)) {
			newest = c
		}
	}
	return true, newest.Route + " was answered at " + clock(newest.Good)
}

// loginWorks reports whether the newest login or refresh succeeded and the service still answers: a session whose
// tokens have expired unused is renewed by the next call.
func loginWorks(f Facts) bool {
	var newest Attempt
	for _, one := range f.Attempts {
		if a, known := one.at(f.Now); known && a.At.After(newest.At) {
			newest = a
		}
	}
	return newest.OK && reached(f)
}

func showSession(f Facts) (bool, string) {
	s, known := f.Session.at(f.Now)
	switch {
	case !known:
		return false, ""
	case !s.Refused.IsZero():
		return false, "a call was refused at " + moment(s.Refused, f.Now) +
			" (401), and no call has succeeded with the tokens since"
	case s.AccessUntil.After(f.Now):
		return true, "the access token is valid until " + moment(s.AccessUntil, f.Now)
	case s.RefreshUntil.After(f.Now):
		return true, "the refresh token is valid until " + moment(s.RefreshUntil, f.Now)
	case loginWorks(f):
		return true, "the tokens have expired, and the last login succeeded"
	case s.State == "none":
		return false, "there are no tokens yet; the first call logs in"
	}
	return false, "there are no valid tokens"
}

func showBudget(f Facts) (bool, string) {
	room, used := false, false
	for _, one := range f.Budgets {
		b, known := one.at(f.Now)
		room, used = room || known, used || known && (b.Asked || b.Room <= 0)
	}
	if !room || used {
		return false, ""
	}
	return true, "every class has calls left"
}

func showAudit(f Facts) (bool, string) {
	a, known := f.Audit.at(f.Now)
	if !known || !a.Writable {
		return false, ""
	}
	return true, "the records of a write can be stored, tried at " + clock(f.Audit.At)
}

func showWrites(f Facts) (bool, string) {
	if w, known := f.Writes.at(f.Now); !known || w.Doubtful+w.Stuck > 0 {
		return false, ""
	}
	return true, "every write has a known outcome"
}

func showFeed(f Facts) (bool, string) {
	d, known := f.Feed.at(f.Now)
	switch {
	case !known:
		return false, ""
	case !d.Expected:
		return false, "no receiver is configured"
	case d.Last.IsZero():
		return false, "no event yet"
	}
	return true, "the last event came at " + moment(d.Last, f.Now)
}

func showIndex(f Facts) (bool, string) {
	i, known := f.Index.at(f.Now)
	if !known {
		return false, ""
	}
	if i.Whole && !i.current(f.Now) {
		return false, i.Says + "; nobody has looked for newer operations for " + span(f.Now.Sub(i.Looked)) +
			" (max_age of [index]: " + span(i.Every) + ")"
	}
	return i.Whole, i.Says
}

// Nothing wrong: what is said then depends on whether anything is known.

// Headline is the first sentence of every surface, with a full stop: the cause, or what is known instead.
func (v Verdict) Headline() string {
	if f, wrong := v.First(); wrong {
		return f.Sentence
	}
	if unknown := v.Unknown(); len(unknown) > 0 {
		return "No fault known. Not known now: " + strings.Join(unknown, ", ") + "."
	}
	return "No fault known."
}

// needed are the parts that have to be known for a good verdict.
func needed() []Part { return []Part{PartService, PartSession, PartStore} }

// Unknown returns the parts without which no verdict is good, and about which no fact holds.
func (v Verdict) Unknown() []string {
	var out []string
	for _, p := range needed() {
		if v.states[p] == Unknown {
			out = append(out, string(p))
		}
	}
	return out
}

// State is that of the worst part: not known unless service, session and store are known.
func (v Verdict) State() State { return v.StateOf(Parts()...) }

// Line is a finding in one line: what, since when, what to do and who can do it.
func (f Finding) Line() string { return f.LineWith(f.Next.Line()) }

// LineWith is Line with the next step in other words.
func (f Finding) LineWith(step string) string { return f.What() + " " + f.by(step) }

// What is the sentence of a finding with its beginning.
func (f Finding) What() string {
	out := f.Sentence
	if !f.Since.IsZero() && !f.dated {
		out += " Since " + moment(f.Since, f.concluded) + "."
	}
	if at := moment(f.Try, f.concluded); !f.Try.IsZero() && !strings.Contains(out, at) {
		out += " Next try at " + at + "."
	}
	return out
}

// Do is the next step, with its command, and who can do it.
func (f Finding) Do() string { return f.by(f.Next.Line()) }

func (f Finding) by(step string) string { return step + " Who can fix it: " + string(f.Who) + "." }

// Line is the step with its command.
func (n Next) Line() string { return n.LineWith(n.Command) }

// LineWith is the step with how its last sentence is done.
func (n Next) LineWith(how string) string {
	if how == "" {
		return n.Do
	}
	return strings.TrimSuffix(n.Do, ".") + " (" + how + ")."
}

// Opens names what the keys of a step show, if Do does not say it.
func (n Next) Opens() string {
	return map[string]string{"opdeck doctor": "doctor", "opdeck session status": "session", "opdeck limits": "limits",
		"opdeck audit unsettled": "unknown outcomes", "opdeck audit verify": "check of the trail",
		"opdeck event list --rejected": "rejected deliveries", "opdeck event list --waiting": "events",
		"opdeck hook get": "webhooks"}[n.Command]
}

// Keys are the names of the console's keys that show or do what the command does: that of a place and, if the place
// alone does not, one of its own. Nil: there are none.
func (n Next) Keys() []string {
	switch n.Command {
	case "opdeck doctor":
		return []string{"session.status", "doctor"}
	case "opdeck session status":
		return []string{"session.status"}
	case "opdeck session reset":
		return []string{"session.status", "session.reset"}
	case "opdeck session login":
		return []string{"session.status", "session.login"}
	case "opdeck limits":
		return []string{"limits"}
	case "opdeck audit unsettled":
		return []string{"audit.list"}
	case "opdeck audit verify":
		return []string{"audit.list", "audit.verify"}
	case "opdeck event list --rejected":
		return []string{"event.list", "events.rejected"}
	case "opdeck event list --waiting":
		return []string{"event.list"}
	case "opdeck hook get":
		return []string{"event.list", "hook.get"}
	}
	return nil
}

// SessionParts are the parts that decide whether calls have a session.
func SessionParts() []Part {
	return []Part{PartConfig, PartStore, PartClock, PartService, PartSession, PartBudget}
}
