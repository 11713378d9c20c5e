package operations

import (
	"strings"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/note"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
)

// Below implements list.Screen: the columns to choose from, or the totals.
func (s *Screen) Below() []string {
	w, h := s.Size()
	if s.chooser != nil {
		s.Table.Measure() // their widths are shown
		return s.columns().chooserLines(w, s.columns().chooserHeight())
	}
	return s.sums().panelLines(w, s.sums().panelHeight(h))
}

// Drawn implements ui.Drawer: the cursor may be in what is below.
func (s *Screen) Drawn() ui.Drawn {
	d := s.List.Drawn()
	_, h := s.Size()
	switch {
	case s.Page != nil:
	case s.chooser != nil:
		n := s.columns().chooserHeight()
		d.Cursors = append(d.Cursors, h-n+2+s.chooser.at-s.columns().chooserFrom(n))
	case s.panel.focus:
		n := s.sums().panelHeight(h)
		d.Cursors = append(d.Cursors, h-n+s.sums().panelHead(n)+s.panel.table.CursorLine())
	}
	return d
}

// HeadLines implements list.Screen: the line that says what is shown, with numbers of
// the row under the cursor for which the table has no room.
func (s *Screen) HeadLines() []string {
	th := s.env.Theme
	w, _ := s.Size()
	line := s.headLine(s.heading().counted(), w)
	if draw.Width(line) > w && s.heading().known() { // how old that is, the line above says, too
		line = s.headLine(th.Strong.Render(s.heading().summary()), w)
	}
	var below []string // the filter, if it has no room in the line
	if f := s.Filter.Shown; !f.Empty() {
		text := draw.Line(untrusted.Text(f.String()), max(w-4, longFilter))
		if draw.Width(line)+4+draw.Width(text) <= w {
			line += th.Dim.Render("  / ") + th.Accent.Render(text)
		} else {
			below = s.heading().filterLines(text, w)
		}
	}
	if s.Doing != "" {
		line += th.Info.Render("  " + s.Doing + " …")
	} else if p := s.heading().progress(); p != "" && s.heading().readSoFar() == "" {
		line += th.Dim.Render("  " + p)
	}
	lines := append([]string{line}, below...)
	if s.lacks.Rows > 0 {
		lines = append(lines, th.Warn.Render(draw.Cut(s.lacks.String(), w)))
	}
	if len(s.noted) > 0 {
		lines = append(lines, th.Dim.Render(draw.Cut(s.heading().noteLine(), w)))
	}
	return lines
}

// headLine is the first of these lines, which begins with counted, without the filter.
func (s *Screen) headLine(counted string, w int) string {
	th := s.env.Theme
	line := counted + s.ArrivedAbove()
	if wide := s.heading().tooWide(w); wide != "" {
		fits := func() bool { return draw.Width(line)+2+draw.Width(wide) <= w } // the amount is not to be cut
		if !fits() {
			line = th.Strong.Render(s.heading().summary()) + s.ArrivedAbove()
		}
		if fits() {
			line += "  "
		} else {
			line = ""
		}
		line += th.Warn.Render(wide)
	}
	if name := s.saves().viewName(); name != "" {
		line += th.Dim.Render("  view ") + th.Accent.Render(draw.Cut(name, 30))
	}
	if s.Loaded {
		line += s.order().Line(th, s.heading().mixed())
	}
	return line
}

// longFilter is how much of a filter the lines above the table show at least, in two lines of a narrow window.
const longFilter = 72

// filterLines is a filter in at most two lines of w cells.
func (s heading) filterLines(text string, w int) []string {
	th := s.env.Theme
	out := draw.Wrap(text, max(w-2, 1))
	if len(out) > 2 {
		out = []string{out[0], draw.Cut(strings.Join(out[1:], " "), max(w-2, 1))}
	}
	for i, l := range out {
		sign := "  "
		if i == 0 {
			sign = th.Dim.Render("/ ")
		}
		out[i] = sign + th.Accent.Render(l)
	}
	return out
}

// noteLine is the note by which the filter finds the row under the cursor, else how many notes it finds rows by.
func (s heading) noteLine() string {
	r, _ := s.rows.record(s.Table.SelectedID())
	if n, ok := note.Of(r.Op, s.noted); ok {
		return present.NoteFound(s.env.Present(), n)
	}
	return format.Plural(len(s.noted), "note contains", "notes contain") + " words of the filter."
}

// mixed reports whether the list is sorted by amounts and holds several currencies.
func (s heading) mixed() bool {
	return field.Operations.Get(s.sort.Field).Kind == field.Money && s.rows.mixed
}

// counted is the summary, with a warning if the index does not hold all operations.
func (s heading) counted() string {
	th, some := s.env.Theme, s.readSoFar()
	switch {
	case some == "" && s.known():
		return th.Strong.Render(s.whole())
	case some == "":
		return th.Strong.Render(s.summary())
	case s.Filter.Shown.Empty():
		return th.Warn.Render(some)
	}
	return th.Strong.Render(s.summary()) + th.Warn.Render("  "+some)
}

// known reports whether the list is all that the index holds, which is all of the service's.
func (s heading) known() bool {
	return s.Loaded && s.fresh.Complete && s.Filter.Shown.Empty() && s.Err == nil && int(s.fresh.Rows) == s.rows.total
}

// summary says how many operations there are.
func (s heading) summary() string {
	switch busy := s.counts.Busy(); {
	case !s.Loaded || s.unread() || s.Err != nil && s.rows.total == 0: // how many is not known
		return "operations"
	case busy && s.Filter.Shown.Empty():
		return format.Count(s.rows.total) + " or more operations"
	case busy:
		return format.Count(s.rows.total) + " or more operations match"
	case !s.Filter.Shown.Empty():
		return format.Plural(s.rows.total, "operation matches", "operations match")
	}
	return format.Plural(s.rows.total, "operation", "operations")
}

// tooWide shows amounts of the row under the cursor that their columns had no room
// for, in full or not at all.
func (s heading) tooWide(w int) string {
	var full, names []string
	r, _ := s.Table.Selected()
	for _, i := range s.Table.TooWide() {
		full = append(full, s.rows.columns[i].Name+" "+r.Cells[i])
		names = append(names, s.rows.columns[i].Name)
	}
	if line := strings.Join(full, "  "); draw.Width(line) <= w {
		return line
	}
	return draw.Cut("enter shows the "+strings.Join(names, ", "), w)
}
