package sessions

import (
	"opdeck/api/session"
	"opdeck/internal/act/remedy"
	"opdeck/ui"
	"opdeck/ui/draw"
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
		case l.Dead:
			return name + " token: dead since " + draw.Clock(l.ExpiresAt, s.env.Zone()) + "; the service refused it before its time."
		case !l.ExpiresAt.After(now):
			return name + " token: its time is over."
		}
		return name + " token: " + clock(l.ExpiresAt.Sub(now)) + " of " + clock(l.TTL) + " left."
	}
	c.Lines = append(s.state(now), life("Access", s.st.Access), life("Refresh", s.st.Refresh))
	c.Lines = append(c.Lines, s.verdict()...)
	c.Sections = append(ui.Sections(s.facts(now)), ui.Section{Title: "Instances", Lines: s.instances(now)[1:]}, ui.Section{Title: "History", Lines: s.history()[1:]})
	return c
}
