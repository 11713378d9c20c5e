package operations

import (
	"strings"

	"opdeck/api/untrusted"
	"opdeck/ui/draw"
)

// View implements ui.Screen.
func (s *Screen) View() string { return strings.Join(s.Lines(), "\n") }

// Lines is the view in lines; rows that look as before are the same strings.
func (s *Screen) Lines() []string {
	th := s.env.Theme
	var top []string
	high := 1
	if s.bar != nil {
		top = s.bar.Lines(th, s.w)
		top = top[:max(min(len(top), s.h/2), 1)]
		high = len(top)
	}
	var foot []string
	low := s.chooserHeight()
	if s.chooser == nil {
		foot = s.panel.lines(th, s.w, min(max(panelH, s.h/3, s.panel.needs()), s.h*3/5))
		low = len(foot)
	}
	s.table.SetSize(s.w, max(s.h-high-low, 1))
	body := s.table.Lines()
	if top == nil {
		top = []string{s.above()} // after the table: it says what the table had no room for
	}
	if s.chooser != nil { // likewise: it says how wide columns are
		foot = s.chooserLines(s.w, low)
	}
	lines := append(draw.Lay(top, s.w, high), body...)
	lines = append(lines, draw.Lay(foot, s.w, len(foot))...)
	if len(lines) != s.h {
		lines = draw.Lay(lines, s.w, s.h)
	}
	return lines
}

// above is the line that says what is shown.
func (s *Screen) above() string {
	th := s.env.Theme
	line := th.Strong.Render(s.head())
	if wide := s.tooWide(); wide != "" {
		if draw.Width(line)+2+draw.Width(wide) > s.w { // the amount is not to be cut
			line = ""
		} else {
			line += "  "
		}
		line += th.Warn.Render(wide)
	}
	if !s.query.Empty() {
		line += th.Dim.Render("  / ") + th.Accent.Render(draw.Line(untrusted.Text(s.query.String()), max(s.w-40, 10)))
	}
	if s.sortColumn() < 0 {
		sign := th.Signs.Up
		if s.sort.Desc {
			sign = th.Signs.Down
		}
		line += th.Dim.Render("  by " + s.sort.Field + " " + sign)
	}
	if n := len(s.table.Marked()); n > 0 {
		line += th.Info.Render("  " + th.Signs.Mark + " " + draw.Count(n) + " marked")
	}
	if s.doing != "" {
		line += th.Info.Render("  " + s.doing)
	} else if s.cfg.Progress != nil {
		if p, ok := s.cfg.Progress(); ok {
			line += th.Dim.Render("  " + p)
		}
	}
	if s.err != nil && s.rows.total > 0 {
		line += th.Warn.Render("  " + th.Signs.Warn + " " + draw.Cut(s.err.Public, 60))
	}
	return line
}

// head says how many operations there are.
func (s *Screen) head() string {
	switch busy := s.tallies.Busy(); {
	case !s.inited || s.err != nil && s.rows.total == 0: // how many is not known
		return "operations"
	case busy && s.query.Empty():
		return draw.Count(s.rows.total) + " or more operations"
	case busy:
		return draw.Count(s.rows.total) + " or more match"
	case !s.query.Empty():
		return draw.Count(s.rows.total) + " match"
	}
	return draw.Plural(s.rows.total, "operation", "operations")
}

// tooWide shows amounts of the row under the cursor that their columns had no room
// for, in full or not at all.
func (s *Screen) tooWide() string {
	var full, names []string
	r, _ := s.table.Selected()
	for _, i := range s.table.TooWide() {
		full = append(full, s.rows.columns[i].Title+" "+r.Cells[i])
		names = append(names, s.rows.columns[i].Title)
	}
	if line := strings.Join(full, "  "); draw.Width(line) <= s.w {
		return line
	}
	return draw.Cut("enter shows the "+strings.Join(names, ", "), s.w)
}
