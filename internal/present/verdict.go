package present

import (
	"slices"

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

// VerdictHeadline is VerdictLine without since when, next step and person.
func VerdictHeadline(v verdict.Verdict) Sentence {
	return Sentence{VerdictLine(Options{}, v).Look, safe(v.Headline(), 600)}
}

// FindingLine is a finding in a line, with keys or a command for the next step.
func FindingLine(o Options, f verdict.Finding) Sentence {
	line := f.Line()
	if o.Keys {
		line = f.KeyLine()
	}
	return Sentence{severityLook(f.Severity), safe(line, 1200)}
}

// PartLine is the state of some parts: the first finding about them, else good or not known.
func PartLine(v verdict.Verdict, parts ...verdict.Part) Sentence {
	state := v.StateOf(parts...)
	out := Sentence{StateLook(state), state.String()}
	found := about(v, parts)
	if len(found) == 0 {
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
		out = append(out, Section{Facts: findingFacts(o, v, f)})
	}
	return out
}

// about are the findings about some parts, all without any.
func about(v verdict.Verdict, parts []verdict.Part) []verdict.Finding {
	if len(parts) == 0 {
		return v.Findings
	}
	return slices.DeleteFunc(slices.Clone(v.Findings),
		func(f verdict.Finding) bool { return !slices.Contains(parts, f.Part) })
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
	for _, e := range f.Evidence {
		out = append(out, Fact{Label: "evidence", Long: true, Tone: Dim,
			Value: safe(e.Text, 600) + " (" + safe(e.From, 200) + ", seen at " + o.clock(e.At) + ")"})
	}
	next := safe(f.Next.Do, 600)
	switch {
	case o.Keys && f.Next.Key != "":
		next += " (press " + safe(f.Next.Key, 60) + ")"
	case f.Next.Command != "":
		next += " (" + safe(f.Next.Command, 200) + ")"
	}
	return append(out, Fact{Label: "next step", Value: next, Long: true},
		Fact{Label: "who", Value: safe(string(f.Who), 120)})
}
