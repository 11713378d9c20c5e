package approvals

import (
	"opdeck/internal/act"
	"opdeck/internal/domain/approval"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// show opens one request, by id: what is said of it follows the list.
func (s *Screen) show(id string) {
	s.Open(id, "Request "+draw.ID(id, 13), func(w int) []string {
		r, ok := s.rows.Find(id)
		if !ok {
			return []string{s.env.Theme.Dim.Render(draw.Cut("This request is no longer among the newest. "+
				s.env.Keys.Global.Back.Help().Key+" goes back.", w))}
		}
		return s.lines(r, w, true)
	})
}

// lines draws a request: its state, what a second person decides by, and exactly what would be sent; details: also
// who asks, who decided, and the digests.
func (s *Screen) lines(r approval.Request, w int, details bool) []string {
	th, now := s.env.Theme, s.env.Now()
	st := state(r, now)
	mark, means := present.RequestState(s.env.Present(), r)
	out := widget.NewText(th, w)
	out.Title("Request " + line(r.ID, 20) + ": " + present.RequestTitle(r.Act))
	head := th.Tone(mark.Tone).Render(th.SignOf(mark.Sign)+" "+mark.Word) + th.Dim.Render("  "+means)
	if r.Waits() && now.Before(r.Expires) {
		left, _ := format.Until(r.Expires, now)
		head += th.Warn.Render("  lapses in " + left)
	}
	out.Add("", head)
	if why := s.why(r); why != "" && st == approval.Open {
		out.Say(theme.Warn, th.Signs.Off+" "+why)
	} else if st == approval.Open {
		out.Cut(theme.Dim, s.keys.Approve.Help().Key+" approves, "+s.keys.Deny.Help().Key+" denies; both ask first.")
	}
	out.Section("What it changes")
	out.Say(theme.Plain, act.Consequence(r.Act.Kind))
	out.Gap()
	out.Pairs(s.env.Pairs(present.Judged(s.env.Present(), r), nil))
	out.Section("Exactly what is sent")
	out.Say(theme.Strong, line(r.Act.Method, 10)+" "+line(r.Act.Path, 400))
	if len(r.Act.Body) == 0 {
		out.Say(theme.Dim, "no body")
	}
	out.JSON(r.Act.Body, 200, "cut here; "+s.env.Keys.Item.Raw.Help().Key+" shows all of it")
	if !details {
		return out.Lines
	}
	out.Gap()
	out.Pairs(s.env.Headed(present.RequestDetails(s.env.Present(), r)[1:])) // what is sent is above
	return out.Lines
}
