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
func (f Finding) Line() string { return f.LineWith(f.Next.Line()) }

// LineWith is Line with the next step in other words.
func (f Finding) LineWith(step string) string { return f.What() + " " + f.by(step) }

// What is the sentence of a finding with its beginning.
func (f Finding) What() string {
	if f.Since.IsZero() || f.dated {
		return f.Sentence
	}
	return f.Sentence + " Since " + moment(f.Since, f.concluded) + "."
}

// Do is the next step, with its command, and who can do it.
func (f Finding) Do() string { return f.by(f.Next.Line()) }

func (f Finding) by(step string) string { return step + " Who: " + string(f.Who) + "." }

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
