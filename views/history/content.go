package history

import (
	"opdeck/ui"
	"opdeck/ui/draw"
)

// Content implements ui.Contenter.
func (s *Screen) Content() ui.Content {
	p := s.page
	if p == nil {
		return ui.Content{Lines: s.above(), Table: s.table}
	}
	out, masked := []string{p.title + "."}, s.env.Masked()
	if p.a.id != "" {
		out = append(out, "Before: "+draw.Time(p.a.state.At, s.env.Zone())+", from "+p.a.state.Origin.String()+".")
	}
	out = append(out, "After: "+draw.Time(p.b.state.At, s.env.Zone())+", from "+p.b.state.Origin.String()+".",
		draw.Plural(len(p.changes), "field differs", "fields differ")+".")
	for _, c := range important(p.changes) {
		out = append(out, path(c)+" was "+shown(c, c.Before, masked, 2000)+", is "+shown(c, c.After, masked, 2000))
		for _, odd := range []string{draw.Suspect(c.Before), draw.Suspect(c.After)} {
			if odd != "" && !(masked && sensitive(c.Path)) {
				out = append(out, "Odd text: "+odd)
			}
		}
	}
	return ui.Content{Lines: out}
}

// Select implements ui.Selecter.
func (s *Screen) Select(id string) bool { return s.table.Select(id) }
