package verdict

import "strings"

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
func (f Finding) Line() string { return f.said(f.Next.Line()) }

// KeyLine is Line for someone at the console: with keys instead of the command if there are any.
func (f Finding) KeyLine() string { return f.said(f.Next.KeyLine()) }

func (f Finding) said(step string) string { return f.What() + " " + f.by(step) }

// What is the sentence of a finding with its beginning.
func (f Finding) What() string {
	if f.Since.IsZero() {
		return f.Sentence
	}
	return f.Sentence + " Since " + moment(f.Since, f.concluded) + "."
}

// Do is the next step, with its command, and who can do it.
func (f Finding) Do() string { return f.by(f.Next.Line()) }

func (f Finding) by(step string) string { return step + " Who: " + string(f.Who) + "." }

// Line is the step with its command.
func (n Next) Line() string {
	if n.Command == "" {
		return n.Do
	}
	return n.Do + " (" + n.Command + ")"
}

// KeyLine is the step with its keys if there are any, else with its command.
func (n Next) KeyLine() string {
	if n.Key == "" {
		return n.Line()
	}
	return n.Do + " (press " + n.Key + ")"
}

// keys are those of the console that show or do what a command does.
func keys(command string) string {
	switch command {
	case "opdeck doctor":
		return "6, then D"
	case "opdeck session status":
		return "6"
	case "opdeck session reset":
		return "6, then X"
	case "opdeck limits":
		return "5"
	case "opdeck audit unsettled":
		return "8"
	case "opdeck audit verify":
		return "8, then V"
	case "opdeck event list --rejected":
		return "7, then b"
	case "opdeck event list --waiting":
		return "7"
	case "opdeck hook get":
		return "7, then W"
	}
	return ""
}

// SessionParts are the parts that decide whether calls have a session.
func SessionParts() []Part {
	return []Part{PartConfig, PartStore, PartClock, PartService, PartSession, PartBudget}
}
