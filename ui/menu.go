package ui

import (
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/sahilm/fuzzy"

	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// menu is a list with a typed fuzzy filter: the palette, views, sorts.
type menu struct {
	dialog
	title string
	items []Choice
	edit  widget.Edit
	hits  []int // indexes of items
	at    int
	pick  func(i int) (Action, tea.Cmd)
	k     keymap.Menu
}

func newMenu(s *Shell, owner screenID, title string, items []Choice, pick func(int) (Action, tea.Cmd)) *menu {
	m := &menu{dialog: dialog{owner}, title: title, items: items, pick: pick, k: s.keys.Menu, edit: widget.Edit{Max: 100}}
	m.filter()
	return m
}

// Len and String let the fuzzy search read the items.
func (m *menu) Len() int            { return len(m.items) }
func (m *menu) String(i int) string { return m.items[i].Text }

func (m *menu) filter() {
	m.hits, m.at = m.hits[:0], 0
	if m.edit.Value() == "" {
		for i := range m.items {
			m.hits = append(m.hits, i)
		}
		return
	}
	for _, f := range fuzzy.FindFrom(m.edit.Value(), m) {
		m.hits = append(m.hits, f.Index)
	}
	slices.SortStableFunc(m.hits, func(a, b int) int { return m.distance(a) - m.distance(b) })
}

// distance tells how far an item is from what was typed: one that has it at the
// beginning of a word comes before one that has it within, and that before one
// that only has its letters.
func (m *menu) distance(i int) int {
	name, typed := strings.ToLower(m.items[i].Text), strings.ToLower(strings.TrimSpace(m.edit.Value()))
	switch {
	case strings.Contains(" "+name, " "+typed):
		return 0
	case strings.Contains(name, typed):
		return 1
	}
	return 2
}

func (m *menu) keys() []keymap.Key { return keymap.All(m.k) }

func (m *menu) key(_ *Shell, p keymap.Press) (Action, tea.Cmd, bool) {
	switch {
	case m.k.Close.Match(p):
		return nil, nil, true
	case m.k.Up.Match(p):
		m.at = max(m.at-1, 0)
	case m.k.Down.Match(p):
		m.at = max(min(m.at+1, len(m.hits)-1), 0)
	case m.k.Choose.Match(p) && len(m.hits) > 0:
		i := m.hits[m.at]
		if why := m.items[i].Why; why != "" {
			return Notify{Denied, why}, nil, false
		}
		if m.pick == nil {
			return nil, nil, true
		}
		a, cmd := m.pick(i)
		return a, cmd, true
	default:
		if m.edit.Type(p) {
			m.filter()
		}
	}
	return nil, nil, false
}

func (m *menu) panel(s *Shell, w, h int, _ time.Time) panel {
	in := max(min(w, dialogWidth)-4, 1)
	lines := []string{s.th.Accent.Render(":") + m.edit.View(s.th, max(in-1, 1), true, "type to filter")}
	rows := max(min(h-3, 12, len(m.items)), 0)
	from := max(min(m.at-rows/2, len(m.hits)-rows), 0)
	for i := from; i < min(from+rows, len(m.hits)); i++ {
		lines = append(lines, m.line(s.th, m.items[m.hits[i]], i == m.at, in))
	}
	if len(m.hits) == 0 {
		lines = append(lines, s.th.Dim.Render(draw.Cut("Nothing matches; backspace widens the search.", in)))
	}
	return panel{title: m.title, tail: draw.Lay(lines, in, rows+1), tone: theme.Accent} // as high as the whole list
}

func (m *menu) line(th *theme.Theme, c Choice, marked bool, w int) string {
	style, sign := th.Tone, "  "
	if marked {
		style, sign = th.Selected, th.Signs.Cursor+" "
	}
	tone, note := theme.Plain, c.Note
	if c.Why != "" {
		tone, note = theme.Dim, "off: "+c.Why
	}
	note = draw.Cut(note, max(w-2-draw.Width(c.Text)-2, 0))
	name := draw.Cut(c.Text, w-2)
	space := draw.Space(w - 2 - draw.Width(name) - draw.Width(note))
	return style(theme.Accent).Render(sign) + style(tone).Render(name+space) + style(theme.Dim).Render(note)
}

// newPalette lists every action of the screen, the global ones and the places.
// Choosing presses the key.
func newPalette(s *Shell, top *openScreen) *menu {
	var items []Choice
	var acts []Action
	add := func(c Choice, a Action) { items, acts = append(items, c), append(acts, a) }
	seen := map[string]bool{s.keys.Global.Palette.Name: true}
	for _, k := range keymap.All(s.keys.Nav) {
		seen[k.Name] = true // moving is no command
	}
	press := func(k keymap.Key, prefix string) {
		if !seen[k.Name] {
			seen[k.Name] = true
			add(Choice{Text: prefix + k.Long, Note: k.Binding.Help().Key, Why: k.Why()}, do(func(s *Shell) tea.Cmd { return s.key(k.Msg()) }))
		}
	}
	for _, k := range top.screen.Keys() {
		press(k, "")
	}
	if c, ok := top.screen.(Commander); ok {
		for _, cmd := range c.Commands() {
			add(Choice{Text: cmd.Title, Why: cmd.Why}, cmd.Do)
		}
	}
	if s.opt.Commands != nil {
		for _, cmd := range s.opt.Commands() {
			add(Choice{Text: cmd.Title, Why: cmd.Why}, cmd.Do)
		}
	}
	for i, k := range keymap.All(s.keys.Global) {
		if i < places {
			press(k, "go to ")
		} else if s.offers(top, k) {
			press(k, "")
		}
	}
	return newMenu(s, top.id, "Commands", items, func(i int) (Action, tea.Cmd) { return acts[i], nil })
}

// offers tells whether a global key does anything here: reload and panes are
// the screen's.
func (s *Shell) offers(top *openScreen, k keymap.Key) bool {
	g := s.keys.Global
	switch k.Name {
	case g.Reload.Name:
		return top.screen.Source() != (Source{})
	case g.Pane.Name, g.PaneBack.Name:
		return false
	}
	return true
}
