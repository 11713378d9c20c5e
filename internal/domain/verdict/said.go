package verdict

import (
	"fmt"
	"strings"
)

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
func (f Finding) Line() string {
	out := f.Sentence
	if !f.Since.IsZero() {
		out += " Since " + clock(f.Since) + "."
	}
	out += " " + f.Next.Do
	if f.Next.Command != "" {
		out += fmt.Sprintf(" (%s)", f.Next.Command)
	}
	return out + " Who: " + string(f.Who) + "."
}
