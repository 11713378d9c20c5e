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
	screen screenID
	title  string
	items  []Choice
	edit   widget.Edit
	hits   []int // indexes of items
	at     int
	pick   func(i int) result
	k      keymap.Menu
}

func newMenu(s *Shell, owner screenID, title string, items []Choice, pick func(int) result) *menu {
	m := &menu{screen: owner, title: title, items: items, pick: pick, k: s.keys.Menu, edit: widget.Edit{Max: 100}}
	m.filter()
	return m
}

func newChoice(s *Shell, owner screenID, c Choose) *menu {
	return newMenu(s, owner, c.Title, c.Items, func(i int) result {
		if c.Pick == nil {
			return result{}
		}
		a, cmd := c.Pick(i)
		return result{action: a, cmd: cmd}
	})
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
	slices.SortStableFunc(m.hits, func(a, b int) int { return m.far(a) - m.far(b) })
}

// far tells how far an item is from what was typed: one that has it at the
// beginning of a word comes before one that has it within, and that before one
// that only has its letters.
func (m *menu) far(i int) int {
	name, typed := strings.ToLower(m.items[i].Text), strings.ToLower(strings.TrimSpace(m.edit.Value()))
	switch {
	case strings.Contains(" "+name, " "+typed):
		return 0
	case strings.Contains(name, typed):
		return 1
	}
	return 2
}

func (m *menu) owner() screenID                    { return m.screen }
func (m *menu) counts(*Shell, time.Time) time.Time { return time.Time{} }
func (m *menu) keys() []keymap.Key                 { return keymap.All(m.k) }

func (m *menu) key(s *Shell, msg tea.KeyMsg) (result, bool) {
	switch {
	case m.k.Close.Match(msg):
		return result{}, true
	case m.k.Up.Match(msg):
		m.at = max(m.at-1, 0)
	case m.k.Down.Match(msg):
		m.at = max(min(m.at+1, len(m.hits)-1), 0)
	case m.k.Choose.Match(msg):
		if len(m.hits) == 0 {
			return result{}, false
		}
		c := m.items[m.hits[m.at]]
		if c.Why != "" {
			return result{action: Notify{Refused, c.Why}}, false
		}
		return m.pick(m.hits[m.at]), true
	default:
		if m.edit.Type(msg) {
			m.filter()
		}
	}
	return result{}, false
}

func (m *menu) box(s *Shell, w, h int, _ time.Time) []string {
	bw := min(w, 76)
	in := max(bw-4, 1)
	lines := []string{s.th.Accent.Render(":") + m.edit.View(s.th, max(in-1, 1), true, "type to filter")}
	rows := max(min(h-3, 12, len(m.items)), 0)
	from := max(min(m.at-rows/2, len(m.hits)-rows), 0)
	for i := from; i < min(from+rows, len(m.hits)); i++ {
		lines = append(lines, m.line(s.th, m.items[m.hits[i]], i == m.at, in))
	}
	if len(m.hits) == 0 {
		lines = append(lines, s.th.Dim.Render(draw.Cut("Nothing matches; backspace widens the search.", in)))
	}
	box := widget.Box(s.th, m.title, lines, "", bw, max(min(rows+3, h), 1), theme.Accent)
	for i := range box {
		box[i] = draw.Pad(box[i], bw)
	}
	return box
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
func newPalette(s *Shell, top *seat) *menu {
	var items []Choice
	var do []func() result
	press := func(k keymap.Key) func() result {
		return func() result { return result{then: func(s *Shell) tea.Cmd { return s.key(k.Msg()) }} }
	}
	seen := map[string]bool{}
	add := func(k keymap.Key, prefix string) {
		if !seen[k.Name] {
			seen[k.Name] = true
			items = append(items, Choice{Text: prefix + k.Long, Note: k.Binding.Help().Key, Why: k.Why()})
			do = append(do, press(k))
		}
	}
	command := func(c Command) {
		items = append(items, Choice{Text: c.Title, Why: c.Why})
		do = append(do, func() result { return result{action: c.Do} })
	}
	for _, k := range keymap.All(s.keys.Nav) {
		seen[k.Name] = true // moving is no command
	}
	for _, k := range s.screenKeys(top) {
		add(k, "")
	}
	if c, ok := top.screen.(Commander); ok {
		for _, cmd := range c.Commands() {
			command(cmd)
		}
	}
	seen[s.keys.Global.Palette.Name] = true
	for i, k := range keymap.All(s.keys.Global) {
		if i < places {
			add(k, "go to ")
		} else if s.offers(top, k) {
			add(k, "")
		}
	}
	for _, cmd := range s.opt.Commands {
		command(cmd)
	}
	return newMenu(s, top.id, "Commands", items, func(i int) result { return do[i]() })
}

// places is how many of the global keys, from the first, go to a place.
const places = 8

// offers tells whether a global key does anything here: reload and panes are
// the screen's.
func (s *Shell) offers(top *seat, k keymap.Key) bool {
	g := s.keys.Global
	switch k.Name {
	case g.Reload.Name:
		return top.screen.Source() != (Source{})
	case g.Pane.Name, g.PaneBack.Name:
		return false
	}
	return true
}
