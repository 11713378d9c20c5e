package ui

import (
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/format"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// menu is a list with a typed filter: the palette, views, sorts.
type menu struct {
	dialog
	Choose // if More is set, the last of Items is the one that reads further items
	edit   widget.Edit
	hits   []int  // indexes of Items
	at     int    // into hits, then found
	reads  search // further items

	refuses bool // pick also gets items that are off, and shows the reason
	k       keymap.Menu

	finds bool // lists local objects below the items
	seek  search
	found []Found // objects that match the typed text
	enter bool    // enter was pressed before they arrived
}

func newMenu(s *window, owner screenID, c Choose) *menu {
	m := &menu{dialog: dialog{owner}, k: s.keys.Menu, edit: widget.Edit{Max: 100}}
	m.show(c)
	return m
}

func (m *menu) filter() {
	m.hits, m.at = ranked(m.Items, m.edit.Value()), 0
	if i := len(m.Items) - 1; m.More != nil && !slices.Contains(m.hits, i) {
		m.hits = append(m.hits, i)
	}
}

// shown is the number of lines that can be chosen.
func (m *menu) shown() int { return len(m.hits) + len(m.found) }

func (m *menu) keys() []keymap.Key { return keymap.All(m.k) }

func (m *menu) key(s *Shell, p keymap.Press) (Action, tea.Cmd, bool) {
	switch {
	case m.k.Close.Match(p) && m.form != nil:
		return m.backToForm(), nil, true
	case m.k.Close.Match(p):
		return nil, nil, true
	case m.k.Up.Match(p):
		m.at = max(m.at-1, 0)
	case m.k.Down.Match(p):
		m.at = max(min(m.at+1, m.shown()-1), 0)
		if m.onMore() {
			return nil, m.readOn(s), false
		}
	case m.k.Choose.Match(p) && m.takes():
		a, _ := m.Typed(strings.TrimSpace(m.edit.Value()))
		return m.remembering(a), nil, true
	case m.k.Choose.Match(p) && m.onMore():
		return nil, m.readOn(s), false
	case m.k.Choose.Match(p) && m.shown() > 0:
		return m.choose()
	case m.k.Choose.Match(p):
		m.enter = m.seek.busy
	default:
		if m.edit.Type(p) {
			m.filter()
			m.enter, m.found = false, nil
			return nil, m.look(s), false
		}
	}
	return nil, nil, false
}

// look finds objects that match the typed text; without text, the last
// opened ones.
func (m *menu) look(s *Shell) tea.Cmd {
	if !m.finds || s.win.opt.Finder == nil {
		return nil
	}
	return s.ask(m, &m.seek, strings.TrimSpace(m.edit.Value()), true)
}

// take lists objects below the items, so that no line moves.
func (m *menu) take(s *Shell, f foundMsg) tea.Cmd {
	m.seek.busy = false
	m.found = f.finding.Matches
	if !f.recent && len(m.hits) == 0 {
		m.found = f.finding.rows(f.typed)
	}
	if !m.enter || len(m.found) == 0 {
		return nil
	}
	m.enter = false
	if f.finding.Only == "" && len(m.found) > 1 { // the text is ambiguous
		return nil
	}
	a, cmd, _ := m.choose()
	s.dialogs.remove(m)
	return tea.Batch(cmd, s.finish(m, a, nil))
}

func (m *menu) choose() (Action, tea.Cmd, bool) {
	if n := m.at - len(m.hits); n >= 0 {
		to := m.found[n].Place
		return do(func(s *Shell) tea.Cmd { return s.route.open(to) }), nil, true
	}
	i := m.hits[m.at]
	why := m.Items[i].Why
	if why != "" && !m.refuses {
		return Notify{Level: Denied, Text: why}, nil, false
	}
	if m.Pick == nil {
		return nil, nil, true
	}
	a, cmd := m.picked(i)
	return a, cmd, why == ""
}

// picked returns the result of an item.
func (m *menu) picked(i int) (Action, tea.Cmd) {
	a, cmd := m.Pick(i)
	return m.remembering(a), cmd
}

// remembering returns the action with the form before the menu, if there was one.
func (m *menu) remembering(a Action) Action {
	if m.form == nil {
		return a
	}
	return remembering(a, m.form)
}

func (m *menu) panel(s *Shell, w, h int, _ time.Time) panel {
	width := wideDialog(w)
	if !m.finds { // it needs only the width of its items, which are all known
		width = max(dialogWidth, min(choicesWidth(m.Items)+4, width))
	}
	in := max(min(w, width)-4, 1)
	lines := []string{s.win.th.Accent.Render("/ ") + m.edit.View(s.win.th, max(in-2, 1), true, "type to filter")}
	list := make([]Choice, 0, m.shown())
	for _, i := range m.hits {
		list = append(list, m.Items[i])
	}
	list = append(list, s.win.choices(m.found)...)
	rows := max(min(h-3, len(m.Items)), 1) // the height of the whole list, so that it does not move while the person types
	if m.finds {
		rows = max(min(h-3-hangsAt, len(list)), 1)
	}
	switch {
	case len(list) == 0 && m.seek.busy:
		lines = append(lines, s.win.th.Dim.Render("Searching the index …"))
	case m.takes():
		lines = append(lines, s.win.th.Dim.Render(draw.Cut("No match; "+m.k.Choose.Help().Key+" uses what you typed.", in)))
	case len(list) == 0:
		lines = append(lines, s.win.th.Dim.Render(draw.Cut("No match; backspace widens the search.", in)))
	}
	lines = append(lines, choiceLines(s.win.th, list, m.at, in, rows, false)...)
	return panel{title: m.Title, foot: m.Foot, width: width, hangs: m.finds, tail: draw.Lay(lines, in, rows+1),
		tone: theme.Accent}
}

// choicesWidth is the width in cells of a list of choices without cuts: the cursor, the
// names, and the texts after them.
func choicesWidth(list []Choice) int {
	name, rest := choiceWidths(tabled(list, wholeTable))
	return 2 + name + rest
}

// wholeTable is a width that has room for every column of a menu.
const wholeTable = 1 << 10

// choiceWidths returns the width of the names and of the texts after the widest one.
func choiceWidths(list []Choice) (name, rest int) {
	for _, c := range list {
		behind := 0
		for _, s := range []string{c.about(), c.note()} {
			if s != "" {
				behind += 2 + draw.Width(s)
			}
		}
		name, rest = max(name, draw.Width(c.Text)), max(rest, behind)
	}
	return name, rest
}

// note returns the text at the right edge.
func (c Choice) note() string {
	if c.Why != "" {
		return "off: " + c.Why
	}
	return c.Note
}

// about returns the text after the name.
func (c Choice) about() string {
	if c.Why != "" {
		return ""
	}
	return c.About
}

// leastName is the width that names keep at most when the texts after them need the rest.
const leastName = 36

// choiceLines draws choices in at most rows lines of w cells, marks the one at index at (-1:
// none), and shows the number of hidden ones; further: there are more than the list has.
func choiceLines(th *theme.Theme, list []Choice, at, w, rows int, further bool) []string {
	more := len(list) > rows || further
	if more && rows > 1 {
		rows--
	}
	from := max(min(max(at, 0)-rows/2, len(list)-rows), 0)
	to := min(from+rows, len(list))
	list = tabled(list, w-2)
	name, rest := choiceWidths(untabled(list[from:to]))
	var out []string
	for i := from; i < to; i++ {
		width := min(name, max(w-2-rest, min(w/2, leastName), 12))
		if len(list[i].Cells) > 0 {
			width = min(draw.Width(list[i].Text), w-2)
		}
		out = append(out, choiceLine(th, list[i], i == at, w, width))
	}
	if !more || rows < 1 {
		return out
	}
	said := ""
	switch {
	case to < len(list):
		said = "  " + th.Signs.More + " " + format.Count(len(list)-to) + " more follow"
	case further:
		said = "  " + th.Signs.More + " more begin with this"
	}
	return append(out, th.Dim.Render(draw.Cut(said, w)))
}

// untabled returns the choices without cells; their texts have widths of their own.
func untabled(list []Choice) []Choice {
	return slices.DeleteFunc(slices.Clone(list), func(c Choice) bool { return len(c.Cells) > 0 })
}

// choiceLine is one choice in w cells; name is the width of the names.
func choiceLine(th *theme.Theme, c Choice, marked bool, w, name int) string {
	style, sign := th.Tone, "  "
	if marked {
		style, sign = th.Selected, th.Signs.Cursor+" "
	}
	tone, note, about := theme.Plain, c.note(), c.about()
	if c.Why != "" {
		tone = theme.Dim
	}
	text := c.Text
	if about != "" {
		text, about = draw.Pad(draw.Middle(text, name), name), "  "+about // names differ at their ends
	}
	room := w - 2 - draw.Width(text)
	note = draw.Cut(note, max(room-2, 0))
	if note != "" {
		room -= draw.Width(note) + 2
	}
	about = draw.Cut(about, max(room, 0))
	text = draw.Middle(text, w-2)
	space := draw.Space(w - 2 - draw.Width(text) - draw.Width(about) - draw.Width(note))
	return style(theme.Accent).Render(sign) + style(tone).Render(text) + style(theme.Dim).Render(about+space+note)
}
