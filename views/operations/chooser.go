package operations

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/field"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
)

// chooser is the choice of columns while it is made: each change shows at once in
// the list above it.
type chooser struct {
	list   []entry // those that are shown in their order; the others keep the place they had
	at     int
	before []field.Choice
	note   string // why a key did nothing
}

type entry struct {
	field.Choice
	on bool
}

func newChooser(shown []field.Choice) *chooser {
	c := &chooser{before: shown}
	c.fill(shown)
	return c
}

func (c *chooser) fill(shown []field.Choice) {
	c.list = c.list[:0]
	for _, s := range shown {
		c.list = append(c.list, entry{s, true})
	}
	for _, name := range field.ColumnNames() {
		if !slices.ContainsFunc(shown, func(s field.Choice) bool { return s.Name == name }) {
			c.list = append(c.list, entry{field.Choice{Name: name}, false})
		}
	}
}

// shown is the choice as it is now.
func (c *chooser) shown() []field.Choice {
	var out []field.Choice
	for _, e := range c.list {
		if e.on {
			out = append(out, e.Choice)
		}
	}
	return out
}

// width is how many cells a column takes in the table now; 0: none.
func (s columnChoice) width(name string) int {
	i := slices.IndexFunc(s.shown, func(o field.Choice) bool { return o.Name == name })
	if i < 0 {
		return 0
	}
	return s.Table.Width(i)
}

// choosing takes a key while columns are chosen.
func (s columnChoice) choosing(msg keymap.Press) (ui.Action, tea.Cmd) {
	k, nav, c := s.env.Keys.Columns, s.env.Keys.Nav, s.chooser
	e := &c.list[c.at]
	c.note = ""
	switch {
	case k.Keep.Match(msg):
		s.chooser = nil
		return nil, s.keepColumns()
	case k.Cancel.Match(msg):
		s.chooser = nil
		s.show(c.before)
		return ui.Handled{}, nil
	case nav.Up.Match(msg):
		c.at = max(c.at-1, 0)
		return nil, nil
	case nav.Down.Match(msg):
		c.at = min(c.at+1, len(c.list)-1)
		return nil, nil
	case nav.Top.Match(msg), nav.PageUp.Match(msg):
		c.at = 0
		return nil, nil
	case nav.Bottom.Match(msg), nav.PageDown.Match(msg):
		c.at = len(c.list) - 1
		return nil, nil
	case k.Show.Match(msg):
		c.toggle(e, s.width(e.Name))
	case k.Narrower.Match(msg):
		c.resize(e, s.width(e.Name), -1)
	case k.Wider.Match(msg):
		c.resize(e, s.width(e.Name), 1)
	case k.Earlier.Match(msg):
		c.move(-1)
	case k.Later.Match(msg):
		c.move(1)
	case k.Reset.Match(msg):
		c.fill(s.usualFor(s.view))
	default:
		return nil, nil
	}
	s.show(c.shown())
	return nil, nil
}

// toggle shows a hidden column and hides a shown one; one that has no room yet is
// kept before others first.
func (c *chooser) toggle(e *entry, drawn int) {
	switch {
	case !e.on:
		e.on, e.Kept = true, true
	case drawn == 0 && !e.Kept:
		e.Kept = true
	case len(c.shown()) == 1:
		c.note = "The last column cannot be hidden."
	default:
		*e = entry{field.Choice{Name: e.Name}, false}
	}
}

func (c *chooser) resize(e *entry, drawn, by int) {
	if !e.on {
		c.note = "space shows it first."
		return
	}
	spec := field.Operations.Get(e.Name).Column
	if drawn == 0 {
		drawn = max(e.Width, spec.Min)
	}
	w := drawn + by
	switch {
	case w < spec.Least:
		c.note = "The column cannot be narrower."
	case w > field.MaxWidth:
		c.note = "The column cannot be wider."
	default:
		e.Width = w
	}
}

// move moves the column under the cursor past its neighbour among those shown.
func (c *chooser) move(by int) {
	to := c.at + by
	if to < 0 || to >= len(c.list) {
		return
	}
	c.list[c.at], c.list[to] = c.list[to], c.list[c.at]
	c.at = to
}

// keepColumns remembers the choice for this person.
func (s columnChoice) keepColumns() tea.Cmd {
	name := s.choiceOf(s.view)
	list := s.shown
	if slices.Equal(list, s.usualFor(name)) {
		list = nil
	}
	if s.chosen == nil {
		s.chosen = map[string][]field.Choice{}
	}
	s.chosen[name] = list
	if s.cfg.Keep == nil {
		return nil
	}
	keep, words := s.cfg.Keep, field.ColumnStrings(list)
	return s.env.Read(nil, func(ctx context.Context) ui.Then {
		err := keep(context.WithoutCancel(ctx), name, words)
		return func() (ui.Action, tea.Cmd) {
			if err == nil {
				return nil, nil
			}
			return ui.Notify{Level: ui.Warning, Text: "The columns apply only until you leave. They could not be saved: " +
				api.AsError(err).Public}, nil
		}
	})
}

// recalled takes what a person chose before. What cannot be read any more counts
// as no choice.
func (s columnChoice) recalled(all map[string][]string) {
	s.chosen = map[string][]field.Choice{}
	for view, words := range all {
		if list, err := field.ParseColumns(words); err == nil && len(list) > 0 {
			s.chosen[view] = list
		}
	}
	s.show(s.columnsOf(s.view))
}

// choiceOf is under which name a choice made in a view is kept: a view that names
// its own columns has its own choice, all others share one.
func (s columnChoice) choiceOf(view string) string {
	if len(s.viewColumns(view)) > 0 || len(s.chosen[view]) > 0 {
		return view
	}
	return ""
}

// columnsOf is what a view shows: what the person chose there, else what the
// config says of it, else what the person chose for all, else the config's.
func (s columnChoice) columnsOf(view string) []field.Choice {
	if list := s.chosen[s.choiceOf(view)]; len(list) > 0 {
		return list
	}
	return s.usualFor(view)
}

// usualFor is what a view shows to somebody who has chosen nothing.
func (s columnChoice) usualFor(view string) []field.Choice {
	for _, list := range [][]field.Choice{s.viewColumns(view), s.cfg.Columns} {
		if len(list) > 0 {
			return list
		}
	}
	return field.UsualColumns()
}

func (s columnChoice) viewColumns(view string) []field.Choice {
	v, _ := s.saves().viewOf(view)
	return v.Columns
}

// chooserHeight is how many lines the choice takes: half of the window at most.
func (s columnChoice) chooserHeight() int {
	if s.chooser == nil {
		return 0
	}
	_, h := s.Size()
	return min(max(h/2, 3), 2+len(s.chooser.list))
}

// chooserLines draws the choice in h lines.
func (s columnChoice) chooserLines(w, h int) []string {
	c, th := s.chooser, s.env.Theme
	title := th.Title.Render("Columns")
	if c.note != "" {
		title += "  " + th.Warn.Render(draw.Cut(c.note, max(w-9, 0)))
	} else if keys := s.chooserKeys(w); keys != "" {
		title += th.Dim.Render(draw.Cut("  "+keys, max(w-7, 0)))
	}
	out := []string{th.Rule.Render(strings.Repeat(th.Signs.Light, max(w, 0))), title}
	rows := min(h-len(out), len(c.list))
	from := s.chooserFrom(h)
	for i := from; i < from+rows; i++ {
		out = append(out, s.chooserLine(th, c.list[i], i == c.at, w))
	}
	return draw.Lay(out, w, h)
}

// chooserFrom is the first column in view, in h lines.
func (s columnChoice) chooserFrom(h int) int {
	rows := min(h-2, len(s.chooser.list))
	return max(min(s.chooser.at-rows/2, len(s.chooser.list)-rows), 0)
}

// chooserKeys are the keys that change a column, if the hint line has no room for all keys.
func (s columnChoice) chooserKeys(w int) string {
	k := s.env.Keys.Columns
	line := func(keys ...keymap.Key) string {
		var out []string
		for _, one := range keys {
			out = append(out, one.Help().Key+" "+one.Help().Desc)
		}
		return strings.Join(out, "  ")
	}
	if draw.Width(line(keymap.All(k)...)) <= w-2 {
		return ""
	}
	return line(k.Earlier, k.Later, k.Narrower, k.Wider, k.Reset)
}

func (s columnChoice) chooserLine(th *theme.Theme, e entry, marked bool, w int) string {
	sign, state, tone := th.Signs.Off, "hidden", theme.Dim
	if e.on {
		drawn := s.width(e.Name)
		sign, state, tone = th.Signs.Good, strconv.Itoa(drawn), theme.Plain
		switch {
		case drawn == 0:
			sign, state, tone = th.Signs.Warn, "no room", theme.Warn
		case e.Width > 0:
			state += " set"
		}
	}
	style, cursor := th.Tone, " "
	if marked {
		style, cursor = th.Selected, th.Signs.Cursor
	}
	f := field.Operations.Get(e.Name)
	line := draw.Fit(" "+sign+" "+draw.Pad(e.Name, 12)+" "+draw.Pad(state, 8)+" "+cmp.Or(f.Column.Shows, f.About),
		max(w-1, 0))
	return style(theme.Accent).Render(cursor) + style(tone).Render(line)
}
