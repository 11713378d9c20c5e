package operation

import (
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/widget"
)

// opens is the kind of place that shows a kind of records.
var opens = map[present.RefKind]string{present.RefCustomer: ui.KindCompliance, present.RefAccount: accounts,
	present.RefCounterparty: counterparties, present.RefChildren: tree}

// facts returns the sections of facts: the person can copy every value, and open those that have
// a record of their own.
func (s *Screen) facts() []ui.Section {
	list := present.OperationFacts(s.env.Present(), *s.Op)
	for i := range list {
		for k := range list[i].Facts {
			if f := &list[i].Facts[k]; f.Opens.Kind == present.RefChildren {
				f.Value, f.Stop = "yes ("+s.keys.Tree.Help().Key+" shows them)", s.tree == nil
				if s.tree != nil {
					f.Value = "yes, " + format.Plural(len(s.tree.Children), "child operation", "child operations")
				}
			}
		}
	}
	out := s.env.Sections(list, factLink)
	for i, part := range list {
		out[i].Beside = part.Side
	}
	return out
}

// factLink returns the link of a fact.
func factLink(f present.Fact) widget.Link {
	if f.Note {
		return widget.Link{}
	}
	what := f.What
	if what == "" {
		what = "the " + f.Label
	}
	return link{opens: opens[f.Opens.Kind], id: f.Opens.ID}.to(f.Key(), what, f.Copy, f.Stop)
}
