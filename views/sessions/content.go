package sessions

import (
	"opdeck/api/session"
	"opdeck/internal/act/remedy"
	"opdeck/ui"
)

// Content implements ui.Contenter.
func (s *Screen) Content() ui.Content {
	c := ui.Content{Doing: s.acting}
	if !s.loaded {
		if s.err != nil {
			c.Lines = []string{s.err.Public, remedy.Plain(s.err)}
		}
		return c
	}
	now := s.env.Now()
	life := func(name string, l session.Lifetime) string {
		switch {
		case l.ExpiresAt.IsZero():
			return name + " token: none."
		case !l.ExpiresAt.After(now):
			return name + " token: its time is over."
		}
		return name + " token: " + clock(l.ExpiresAt.Sub(now)) + " of " + clock(l.TTL) + " left."
	}
	c.Lines = append(s.state(now), life("Access", s.st.Access), life("Refresh", s.st.Refresh))
	c.Lines = append(c.Lines, s.verdict()...)
	c.Sections = ui.Sections(s.facts(now))
	if lines := s.borrowers(now); len(lines) > 0 {
		c.Sections = append(c.Sections, ui.Section{Title: "Borrowers", Lines: lines[1:]})
	}
	c.Sections = append(c.Sections, ui.Section{Title: "Instances", Lines: s.instances(now)[1:]}, ui.Section{Title: "History", Lines: s.history()[1:]})
	return c
}
