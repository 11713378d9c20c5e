package widget

import (
	"strings"

	"opdeck/internal/format"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
)

// Viewer shows lines of safe text (styled parts allowed) with scrolling and
// search. Long lines are wrapped, and as far indented as they began.
type Viewer struct {
	th    *theme.Theme
	nav   keymap.Nav
	keys  keymap.Viewer
	form  keymap.Form
	lines []string // as given
	rows  []string // wrapped to w
	first []int    // by line: its first row
	w, h  int
	top   int

	foot      bool // the last line says where one is in what does not fit
	searching bool
	query     Edit
	hits      []int // rows
	hit       int
}

// NewViewer makes a viewer.
func NewViewer(th *theme.Theme, keys *keymap.Map) *Viewer {
	return &Viewer{th: th, nav: keys.Nav, keys: keys.Viewer, form: keys.Form, query: Edit{Max: 200}}
}

// Footed makes v say on its last line where one is in a text that does not fit,
// and which key shows more of it.
func (v *Viewer) Footed() *Viewer {
	v.foot = true
	return v
}

// SetLines replaces the text; the place stays where it can.
func (v *Viewer) SetLines(lines []string) {
	v.lines = lines
	v.wrap()
}

// SetSize sets the size in cells.
func (v *Viewer) SetSize(w, h int) {
	w, h = max(w, 0), max(h, 0)
	changed := w != v.w
	v.w, v.h = w, h
	if changed {
		v.wrap()
	}
	v.settle()
}

func (v *Viewer) wrap() {
	v.rows, v.first = v.rows[:0], v.first[:0]
	for _, l := range v.lines {
		v.first = append(v.first, len(v.rows))
		if v.w > 0 && draw.Width(l) > v.w {
			v.rows = append(v.rows, draw.Hang(l, len(l)-len(strings.TrimLeft(l, " ")), v.w)...)
		} else {
			v.rows = append(v.rows, l)
		}
	}
	v.search(false)
	v.settle()
}

func (v *Viewer) settle() { v.top = max(min(v.top, len(v.rows)-v.page()), 0) }

func (v *Viewer) page() int {
	if v.h > 1 && v.Seeking() || v.footed() {
		return v.h - 1
	}
	return max(v.h, 1)
}

func (v *Viewer) footed() bool { return v.foot && v.h > 2 && len(v.rows) > v.h }

// Searching reports that printable keys go to the search line.
func (v *Viewer) Searching() bool { return v.searching }

// Seeking reports that something is searched for: the keys for hits do something.
func (v *Viewer) Seeking() bool { return v.searching || v.query.Value() != "" }

// Hints are the keys for hits while something is searched for, nil otherwise: a
// screen shows them in place of its own.
func (v *Viewer) Hints() []keymap.Key {
	if !v.Seeking() {
		return nil
	}
	if v.searching {
		find, end := v.form.Submit, v.form.Cancel
		find.SetHelp(find.Help().Key, "find")
		end.SetHelp(end.Help().Key, "end the search")
		return []keymap.Key{find, end}
	}
	next, prev, end := v.keys.Next, v.keys.Prev, v.keys.Close
	next.Extra, prev.Extra = false, false
	end.SetHelp(end.Help().Key, "end the search")
	return append([]keymap.Key{end, next, prev, v.keys.Search}, keymap.All(v.nav)...)
}

// Clear ends a search and reports whether there was one.
func (v *Viewer) Clear() bool {
	had := v.Seeking()
	v.searching = false
	v.query.Set("")
	v.hits = nil
	return had
}

// Update scrolls or searches and reports whether msg was a key of the viewer.
func (v *Viewer) Update(msg keymap.Press) bool {
	if v.searching {
		return v.typing(msg)
	}
	turn := turned(v.nav, msg, v.page())
	switch {
	case v.nav.Up.Match(msg):
		v.top--
	case v.nav.Down.Match(msg):
		v.top++
	case turn != 0:
		v.top += turn
	case v.nav.Top.Match(msg):
		v.top = 0
	case v.nav.Bottom.Match(msg):
		v.top = len(v.rows)
	case v.keys.Search.Match(msg):
		v.searching = true
	case v.keys.Next.Match(msg):
		v.jump(1)
	case v.keys.Prev.Match(msg):
		v.jump(-1)
	default:
		return false
	}
	v.settle()
	return true
}

func (v *Viewer) typing(msg keymap.Press) bool {
	switch {
	case v.form.Submit.Match(msg):
		v.searching = false
	case v.form.Cancel.Match(msg):
		v.Clear()
	default:
		if v.query.Type(msg) {
			v.search(true)
		}
	}
	v.settle()
	return true
}

func (v *Viewer) search(move bool) {
	was := v.hit
	v.hits, v.hit = nil, 0
	q := v.query.Value()
	if q == "" {
		return
	}
	for i, l := range v.rows {
		if draw.Finds(l, q) {
			if move && i < v.top {
				v.hit = len(v.hits) + 1
			}
			v.hits = append(v.hits, i)
		}
	}
	if len(v.hits) == 0 {
		return
	}
	if !move { // the same text drawn again: one stays at the hit
		v.hit = min(was, len(v.hits)-1)
		return
	}
	v.hit %= len(v.hits)
	v.jump(0)
}

func (v *Viewer) jump(n int) {
	if len(v.hits) == 0 {
		return
	}
	v.hit = ((v.hit+n)%len(v.hits) + len(v.hits)) % len(v.hits)
	if at := v.hits[v.hit]; at < v.top || at >= v.top+v.page() {
		v.top = at - v.page()/3
	}
}

// Show scrolls as little as it takes to see a line.
func (v *Viewer) Show(line int) {
	if line < 0 || line >= len(v.first) || v.Sees(line) {
		return
	}
	row := v.first[line]
	if row >= v.top {
		row -= v.page() - 1
	}
	v.top = row
	v.settle()
}

// AtTop reports whether the first line is visible.
func (v *Viewer) AtTop() bool { return v.top == 0 }

// Sees reports whether a line is on screen.
func (v *Viewer) Sees(line int) bool {
	return line >= 0 && line < len(v.first) && v.first[line] >= v.top && v.first[line] < v.top+v.page()
}

// Row is the line of the window that a line begins on; -1: it is not on screen.
func (v *Viewer) Row(line int) int {
	if !v.Sees(line) {
		return -1
	}
	return v.first[line] - v.top
}

// Position is "12 of 340" for the last line on screen; empty when all is seen.
func (v *Viewer) Position() string {
	if len(v.rows) <= v.page() {
		return ""
	}
	return format.Count(min(v.top+v.page(), len(v.rows))) + " of " + format.Count(len(v.rows))
}

// Further says where one is in what does not fit, and how to see the rest of it;
// empty when all is seen.
func (v *Viewer) Further() string {
	if v.Position() == "" {
		return ""
	}
	last := min(v.top+v.page(), len(v.rows))
	where, on := format.Count(last)+" of "+format.Count(len(v.rows)), v.nav.PageDown.Help().Key+" shows more"
	if last == len(v.rows) {
		on = v.nav.PageUp.Help().Key + " goes back up"
	}
	return draw.Fitting(v.w-2, where+" lines, "+on, where+", "+on, where) // a frame takes two cells more than the lines
}

// Lines draws the viewer: as many lines as its height.
func (v *Viewer) Lines() []string {
	page := v.page()
	out := make([]string, 0, v.h)
	for i := v.top; i < min(v.top+page, len(v.rows)); i++ {
		l := v.rows[i]
		if len(v.hits) > 0 && v.hits[v.hit] == i {
			l = v.th.Selected(theme.Plain).Render(draw.Pad(draw.Unstyled(l), v.w))
		}
		out = append(out, l)
	}
	switch {
	case v.Seeking() && page < v.h:
		out = draw.Lay(out, v.w, page)
		q := v.query.View(v.th, max(v.w-16, 1), v.searching, "")
		found := "no match"
		if len(v.hits) > 0 {
			found = format.Count(v.hit+1) + "/" + format.Count(len(v.hits))
		}
		if v.query.Value() == "" {
			found = ""
		}
		out = append(out, draw.Spread(v.th.Accent.Render("/")+q, v.th.Dim.Render(found), v.w))
	case v.footed():
		out = append(draw.Lay(out, v.w, page), v.th.Dim.Render(draw.Cut(v.Further(), v.w)))
	}
	return draw.Lay(out, v.w, v.h)
}
