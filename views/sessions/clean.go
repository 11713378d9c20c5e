package sessions

import (
	"slices"

	"opdeck/api/session"
	"opdeck/api/untrusted"
)

// clean makes a state safe to draw: host, user and reason of other instances
// come from a store that others write to.
func clean(s session.Status) session.Status {
	s.Account, s.BaseURL, s.State = line(s.Account), line(s.BaseURL), line(s.State)
	s.Warning, s.Verdict.Sentence = long(s.Warning), long(s.Verdict.Sentence)
	s.From = session.Kind(line(string(s.From)))
	s.By = owner(s.By)
	if s.Holder != nil {
		h := owner(*s.Holder)
		s.Holder = &h
	}
	s.Verdict.Evidence = slices.Clone(s.Verdict.Evidence)
	for i, e := range s.Verdict.Evidence {
		s.Verdict.Evidence[i] = long(e)
	}
	s.Borrowers = slices.Clone(s.Borrowers)
	for i := range s.Borrowers {
		b := &s.Borrowers[i]
		b.Name, b.Role, b.Priority = line(b.Name), line(b.Role), line(b.Priority)
	}
	s.Seen, s.History = slices.Clone(s.Seen), slices.Clone(s.History)
	for i := range s.Seen {
		s.Seen[i].Owner = owner(s.Seen[i].Owner)
	}
	for i := range s.History {
		e := &s.History[i]
		e.Owner, e.Detail, e.Reason = owner(e.Owner), long(e.Detail), long(e.Why())
		e.Kind, e.Outcome = session.EventKind(line(string(e.Kind))), session.Outcome(line(string(e.Outcome)))
	}
	return s
}

func owner(o session.Owner) session.Owner {
	o.Host, o.User, o.Version = line(o.Host), line(o.User), line(o.Version)
	return o
}

func line(s string) string { return untrusted.Text(s).Line(120) }
func long(s string) string { return untrusted.Text(s).Line(600) }
