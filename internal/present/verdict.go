package present

import (
	"slices"
	"strings"
	"time"

	"opdeck/internal/domain/verdict"
	"opdeck/internal/format"
)

// StateLook is the look of a part's state: only a state that a fact shows is good.
func StateLook(s verdict.State) Look {
	return map[verdict.State]Look{verdict.Unknown: {SignUnknown, Plain}, verdict.Good: {SignGood, Good},
		verdict.Warned: {SignWarn, Warn}, verdict.Bad: {SignBad, Bad}}[s]
}

func severityLook(s verdict.Severity) Look {
	return map[verdict.Severity]Look{verdict.Info: {SignInfo, Info}, verdict.Warning: {SignWarn, Warn},
		verdict.Critical: {SignBad, Bad}}[s]
}

// VerdictLine is the first line of every surface: the cause, since when, the next step and who can do it; or what is
// known instead.
func VerdictLine(o Options, v verdict.Verdict) Sentence {
	if f, wrong := v.First(); wrong {
		return FindingLine(o, f)
	}
	return Sentence{StateLook(v.State()), safe(v.Headline(), 600)}
}

// FindingLine is a finding in a line, with keys or a command for the next step.
func FindingLine(o Options, f verdict.Finding) Sentence {
	return Sentence{severityLook(f.Severity), safe(f.LineWith(step(o, f.Next)), 1200)}
}

// Advice is what to do about a finding, and who can do it, for a screen on which the sentence is a line of its own.
func Advice(o Options, f verdict.Finding) []Fact {
	return []Fact{{Label: "do", Value: safe(step(o, f.Next), 600), Long: true},
		{Label: "who", Value: safe(string(f.Who), 120), Long: true}}
}

// Change is something that happened on a host of this store.
type Change struct {
	At   time.Time // by the store's clock
	What string    // "opdeck 1.4.0 started on edge-1"
}

// Around is what still works and what changed before the first cause, for the person on call; others is the number of
// other people with a console.
func Around(v verdict.Verdict, others int, changes []Change) []Fact {
	by := map[string][]string{}
	for _, a := range v.Abilities() {
		word := "Works: "
		switch a.State {
		case verdict.Bad:
			word = "Does not work: "
		case verdict.Unknown:
			word = "Not known: "
		}
		by[word] = append(by[word], a.Name)
	}
	var now []string
	for _, word := range []string{"Works: ", "Does not work: ", "Not known: "} {
		if names := by[word]; names != nil {
			now = append(now, word+strings.Join(names, ", ")+".")
		}
	}
	if others > 0 {
		now = append(now, format.Plural(others, "other person has", "others have")+" a console open.")
	}
	out := []Fact{{Label: "now", Value: strings.Join(now, " "), Long: true}}
	if f, wrong := v.First(); wrong && !f.Since.IsZero() {
		if before := changedBefore(f.Since, changes); before != "" {
			out = append(out, Fact{Label: "past", Value: before, Long: true})
		}
	}
	return out
}

// mostChanges and changedWithin bound the changes that Around names.
const mostChanges, changedWithin = 2, 24 * time.Hour

// changedBefore names the newest changes before a time, newest first.
func changedBefore(since time.Time, changes []Change) string {
	changes = slices.DeleteFunc(slices.Clone(changes), func(c Change) bool {
		return c.At.After(since) || since.Sub(c.At) > changedWithin
	})
	slices.SortFunc(changes, func(a, b Change) int { return b.At.Compare(a.At) })
	var out []string
	for _, c := range changes[:min(len(changes), mostChanges)] {
		before := format.Duration(since.Sub(c.At).Round(time.Second))
		out = append(out, before+" before it: "+safe(c.What, 300))
	}
	if out == nil {
		return ""
	}
	return strings.Join(out, "; ") + "."
}

// FindingSays is a finding without its next step.
func FindingSays(f verdict.Finding) Sentence {
	return Sentence{severityLook(f.Severity), safe(f.What(), 1200)}
}

// FindingStep is a finding with its next step, for a screen that shows the rest.
func FindingStep(o Options, f verdict.Finding) Sentence {
	return Sentence{severityLook(f.Severity), safe(f.Sentence, 600) + " " + safe(step(o, f.Next), 600)}
}

// step is a next step with its keys, if the console has any for it, else with its command.
func step(o Options, n verdict.Next) string {
	keys := n.Keys()
	if o.Press == nil || len(keys) == 0 {
		return n.Line()
	}
	var presses []string
	for _, key := range keys {
		if press := o.Press(key); press != "" {
			presses = append(presses, press)
		}
	}
	if len(presses) == 0 { // the open screen shows it
		return n.Do
	}
	how := "press " + strings.Join(presses, ", then ")
	if what := n.Opens(); what != "" {
		how = what + ": " + how
	}
	return n.LineWith(how)
}

// PartLine is the state of a part: the first finding about it, else good or not known with what that rests on.
func PartLine(v verdict.Verdict, p verdict.Part) Sentence {
	out := Sentence{StateLook(v.Of(p)), v.Of(p).String()}
	if v.Off(p) {
		out = Sentence{Look{SignOff, Dim}, "off"}
	}
	found := about(v, []verdict.Part{p})
	found = slices.DeleteFunc(found, func(f verdict.Finding) bool { return f.Severity == verdict.Info })
	if len(found) == 0 {
		if because := v.Shows(p); because != "" {
			out.Text += ": " + safe(because, 300)
		}
		return out
	}
	out.Text = safe(found[0].Sentence, 600)
	if n := len(found) - 1; n > 0 {
		out.Text += " And " + format.Plural(n, "other", "others") + "."
	}
	return out
}

// Findings are the findings about some parts, about all without any: each a section with its sentence, since when, the
// evidence, the next step, and who can do it.
func Findings(o Options, v verdict.Verdict, parts ...verdict.Part) []Section {
	var out []Section
	for _, f := range about(v, parts) {
		out = append(out, Section{Title: partTitle(f.Part), Facts: findingFacts(o, v, f)})
	}
	return out
}

// mostEvidence is the maximum of lines of evidence for a finding, newest first.
const mostEvidence = 4

// Evidence is each finding with what shows it, in lines.
func Evidence(o Options, v verdict.Verdict) []string {
	var out []string
	for _, f := range v.Findings {
		out = append(out, safe(f.Sentence, 600))
		for _, line := range EvidenceOf(o, f) {
			out = append(out, "shown by: "+line)
		}
	}
	return out
}

// EvidenceOf is what shows a finding, newest first.
func EvidenceOf(o Options, f verdict.Finding) []string {
	var out []string
	for i, e := range slices.Backward(f.Evidence) {
		if len(out) == mostEvidence {
			return append(out, format.Plural(i+1, "earlier line", "earlier lines"))
		}
		out = append(out, o.evidence(e))
	}
	return out
}

func (o Options) evidence(e verdict.Evidence) string {
	return safe(e.Text, 600) + " (" + safe(e.From, 200) + ", seen at " + o.clock(e.At) + ")"
}

// about are the findings about some parts, all without any.
func about(v verdict.Verdict, parts []verdict.Part) []verdict.Finding {
	if len(parts) == 0 {
		return v.Findings
	}
	return slices.DeleteFunc(slices.Clone(v.Findings),
		func(f verdict.Finding) bool { return !slices.Contains(parts, f.Part) })
}

// partTitle is the name of a part as a heading.
func partTitle(p verdict.Part) string {
	if p == "" {
		return ""
	}
	return strings.ToUpper(safe(string(p[:1]), 4)) + safe(string(p[1:]), 60)
}

func findingFacts(o Options, v verdict.Verdict, f verdict.Finding) []Fact {
	look := severityLook(f.Severity)
	out := []Fact{{Label: "cause", Value: o.sign(look.Sign) + safe(f.Sentence, 600), Tone: look.Tone, Long: true}}
	for _, first := range v.Findings {
		if f.Follows != "" && first.Cause == f.Follows {
			out = append(out, Fact{Label: "follows from", Value: safe(first.Sentence, 600), Tone: Dim, Long: true})
			break
		}
	}
	if !f.Since.IsZero() {
		out = append(out, Fact{Label: "since", Value: o.moment(f.Since)})
	}
	for _, line := range EvidenceOf(o, f) {
		out = append(out, Fact{Label: "evidence", Value: line, Tone: Dim, Long: true})
	}
	next := safe(step(o, f.Next), 600)
	return append(out, Fact{Label: "next step", Value: next, Long: true},
		Fact{Label: "who", Value: safe(string(f.Who), 120)})
}
