package documents

import (
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
)

// Content implements ui.Contenter.
func (s *Screen) Content() ui.Content {
	c := ui.Content{Lines: s.above(), Table: s.table, Doing: s.doing}
	d, ok := s.selected()
	if !ok {
		return c
	}
	c.Detail = append([]widget.Pair{{Label: "id", Value: d.GUID.Line(64)}}, s.facts(d)...)
	c.Detail = append(c.Detail, widget.Pair{Label: "media type", Value: d.MIME.Line(128)}, widget.Pair{Label: "info", Value: d.Info.Line(400)})
	for _, odd := range []string{draw.SuspiciousText(d.FileName), draw.SuspiciousText(d.Info)} {
		if odd != "" {
			c.Detail = append(c.Detail, widget.Pair{Label: "odd text", Value: odd})
		}
	}
	return c
}

// Select implements ui.Selecter.
func (s *Screen) Select(id string) bool {
	ok := s.table.Select(id)
	s.layout()
	return ok
}

// Commands implements ui.Commander: a job that stands still can be gone on with
// when no document is left to press a key on.
func (s *Screen) Commands() []ui.Command {
	var out []ui.Command
	for _, j := range s.jobs {
		out = append(out, ui.Command{Title: "resume", Do: s.askResume(j)})
	}
	return out
}
