package verdict

import (
	"cmp"
	"slices"
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
)

// Parts returns all parts, in the order of causes.
func Parts() []Part {
	return []Part{PartConfig, PartStore, PartClock, PartService, PartCertificate, PartSession, PartBudget, PartAudit,
		PartWrites, PartFeed, PartIndex}
}

// Who can carry out the next step.
type Who string

// The people.
const (
	Operator Who = "the administrator of this host"
	Admin    Who = "the person who runs opdeck on all hosts"
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
	Evidence []Evidence `json:"evidence"`
	Next     Next       `json:"next"`
	Who      Who        `json:"who"`
	Follows  Cause      `json:"follows,omitempty"` // the earlier finding that explains this one

	dated     bool // Sentence has the time of Since
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
				Since: h.since, Evidence: h.evidence, Next: next, Who: cmp.Or(h.who, c.who),
				dated: c.dated, concluded: f.Now})
		}
	}
	slices.SortStableFunc(v.Findings, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	v.relate()
	v.show(f)
	v.judge()
	return v
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
