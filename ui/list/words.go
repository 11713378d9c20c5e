package list

import (
	"cmp"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
	"opdeck/internal/act/remedy"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Sign is a sign before or in a row, with its meaning.
type Sign struct {
	Sign func(*theme.Theme) string
	Tone theme.Tone
	Says string
}

// Warning is the sign of a row that needs attention.
func Warning(says string) Sign {
	return Sign{Sign: func(th *theme.Theme) string { return th.Signs.Warn }, Tone: theme.Warn, Says: says}
}

// Locked is the sign of a locked record.
func Locked(says string) Sign {
	return Sign{Sign: func(th *theme.Theme) string { return th.Signs.Locked }, Tone: theme.Warn, Says: says}
}

// LockUnknown is the sign of a record whose lock the service does not tell.
func LockUnknown() Sign {
	return Sign{Sign: func(*theme.Theme) string { return "?" }, Tone: theme.Warn,
		Says: "under lock: the service does not say whether it is locked"}
}

// StatusSigns are the signs of the service's status words, as theme.Status draws them.
func StatusSigns() []Sign {
	var out []Sign
	for _, words := range present.StatusWords() {
		out = append(out, Sign{Sign: func(th *theme.Theme) string { return th.Status(words[0]).Sign },
			Says: "status " + strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]})
	}
	return append(out, Sign{Sign: func(th *theme.Theme) string { return th.Status("").Sign },
		Says: "unknown status; alone: not known, no answer of the service told it"})
}

// HelpTopic implements ui.HelpTopic: the language of the filter, and the signs of the rows.
func (l *List[T]) HelpTopic() (string, []string) {
	out := l.spec.Language.Guide()
	for i, s := range l.spec.Signs {
		if i == 0 {
			out = append(out, "", "Signs")
		}
		out = append(out, "  "+s.Sign(l.Env.Theme)+"  "+s.Says)
	}
	return "Filter ( / )", out
}

// Content implements ui.Contenter.
func (l *List[T]) Content() ui.Content {
	if l.Page != nil {
		return ui.Content{Lines: l.Page.fill(ui.PlainWidth), Doing: l.Doing}
	}
	c := ui.Content{Table: l.Table, Doing: l.Doing, Filter: l.Filter.bar}
	if !l.Filter.Typing() {
		c.Lines = l.over()
	}
	if l.spec.Detail != nil {
		c.Detail = l.spec.Detail()
	}
	return c
}

const detailFrom = 14 // lines of the screen from which the detail fits

// Below implements Screen: it draws Spec.Detail if there is room.
func (l *List[T]) Below() []string {
	if l.spec.Detail == nil || l.H < detailFrom || l.preview.w > 0 {
		return nil
	}
	pairs := l.spec.Detail()
	if len(pairs) == 0 {
		return nil
	}
	th := l.Env.Theme
	return append([]string{th.Rule.Render(strings.Repeat(th.Signs.Light, max(l.W, 0)))},
		widget.Pairs(th, pairs, min(l.W, 99))...)
}

// Select implements ui.Selecter. If the row is not read yet, the cursor goes to it
// after the read.
func (l *List[T]) Select(id string) bool {
	ok := l.Table.Cursor.Select(id)
	if !ok && !l.Loaded {
		l.wanted = id
	}
	l.refresh()
	return ok
}

// NoRows says why there are no rows: an error, a running read, a filter that matches none,
// or no records. on is the key that reads further rows; "" if everything was read.
func (l *List[T]) NoRows(none widget.Notice, on string) widget.Notice {
	k := l.Env.Keys
	clears, changes := k.Global.Back.Help().Key+" clears it", k.List.Filter.Help().Key+" changes it"
	switch {
	case l.Err != nil:
		return widget.Notice{Tone: theme.Bad, Text: l.Err.Public,
			Hint: strings.TrimSpace(remedy.Screen(l.Err) + " " + k.Global.Reload.Help().Key + " tries again.")}
	case !l.Loaded || l.Loads.Busy() && !l.Filter.Typing():
		return widget.Notice{Text: l.spec.Reading}
	case l.Filter.Shown.Empty():
		return none
	case l.Filter.Typing() && l.spec.Further != "": // its keys are text now
		return widget.Notice{Text: l.spec.Further, Hint: k.Form.Submit.Help().Key + " searches all of them"}
	case l.Filter.Typing():
		return widget.Notice{Text: l.spec.None}
	case on != "":
		return widget.Notice{Text: l.spec.Further, Hint: on + " reads older ones; filter: " + changes + ", " + clears}
	}
	return widget.Notice{Text: l.spec.None, Hint: changes + ", " + clears}
}

// longFilter is how much of a filter the lines above the table show at least, in two lines of a narrow window.
const longFilter = 72

// Head returns the lines above the table: shown, which says how many rows there are, the order, work in progress, and
// the filter, in lines of its own if it has no room. also follows the number of rows.
func (l *List[T]) Head(shown, also string) []string {
	th, filter := l.Env.Theme, l.Filter.Shown.String()
	line := shown + l.arrivedAbove()
	if th.Linear {
		if line += also; filter != "" {
			line += ", filter " + untrusted.Text(filter).Line(ui.PlainWidth)
		}
		return []string{line + l.Sort.sentence() + "."}
	}
	if titles, numbers := l.Table.Cursor.TooWide(); titles != nil { // in full or not at all
		wide := ""
		for i, n := range numbers {
			wide += strings.Repeat("  ", min(i, 1)) + titles[i] + " " + n
		}
		if draw.Width(wide) > l.W {
			wide = draw.Cut(l.Env.Keys.List.Open.Help().Key+" shows the "+strings.Join(titles, ", "), l.W)
		}
		if line += "  "; draw.Width(line)+draw.Width(wide) > l.W { // the number is not to be cut
			line = ""
		}
		line += th.Warn.Render(wide)
	}
	line += also + l.Sort.line(th)
	var below []string
	if filter != "" {
		text := draw.Line(untrusted.Text(filter), max(l.W-4, longFilter))
		if draw.Width(line)+4+draw.Width(text) <= l.W {
			line += th.Dim.Render("  / ") + th.Accent.Render(text)
		} else {
			below = l.Filter.lines(text, l.W)
		}
	}
	if l.Doing != "" {
		line += th.Info.Render("  " + l.Doing + " …")
	}
	return append([]string{line}, below...)
}

// arrivedAbove says how many new rows are above the cursor.
func (l *List[T]) arrivedAbove() string {
	n, th := l.Table.Cursor.ArrivedAbove(), l.Env.Theme
	if n == 0 {
		return ""
	}
	if th.Linear {
		return ", " + format.Count(n) + " new above"
	}
	return th.Info.Render("  " + th.Signs.Up + " " + format.Count(n) + " new")
}

// over returns the lines above the table; the last ones warn that the rows are stale.
func (l *List[T]) over() []string {
	if l.spec.OwnStale {
		return l.screen.HeadLines()
	}
	return append(l.screen.HeadLines(), l.Stale()...)
}

// Stale returns the warning that the rows are from an earlier read; nil if they are not.
func (l *List[T]) Stale() []string {
	if l.Err == nil || l.rows.Len() == 0 {
		return nil
	}
	line := l.Env.ReloadFailed(l.Err)
	if l.Env.Theme.Linear {
		return []string{line}
	}
	return draw.Hang(line, 2, l.W)
}

// Drawn implements ui.Drawer.
func (l *List[T]) Drawn() ui.Drawn {
	if l.Page != nil {
		return ui.Drawn{}
	}
	d := ui.Drawn{Problem: l.Err != nil && (l.rows.Len() == 0 || l.saidStale)}
	if line := l.Table.Cursor.CursorLine(); line >= 0 {
		d.Cursors = []int{len(l.above) + line}
	}
	return d
}

// Defaults implements the methods of Screen that most screens do not need.
type Defaults struct{}

// Answer handles no message.
func (Defaults) Answer(tea.Msg) (ui.Action, tea.Cmd) { return nil, nil }

// Item returns no item.
func (Defaults) Item() ui.Item { return ui.Item{} }

// ReadOn reads nothing, for a list that is read at once.
func (Defaults) ReadOn() tea.Cmd { return nil }

// Refresh does nothing.
func (Defaults) Refresh() {}

// NextChange returns zero, for never.
func (Defaults) NextChange(time.Time) time.Time { return time.Time{} }

// Keys implements ui.Screen.
func (l *List[T]) Keys() []keymap.Key {
	switch {
	case l.Filter.Typing():
		return widget.FilterKeys(l.Env.Keys)
	case l.Page.Seeking():
		return l.Page.View.Hints()
	}
	k, keys := l.Env.Keys, slices.Clip(l.screen.HelpKeys())
	usual := []keymap.Key{k.List.Filter, k.Global.Reload} // of every list, or every page above one
	switch {
	case l.Page != nil:
		usual = []keymap.Key{k.Viewer.Search, k.Viewer.Next, k.Viewer.Prev}
	case l.Sort.orders.Take != nil:
		usual = append(usual, k.List.Sort, k.List.Left, k.List.Right)
	}
	if l.Page == nil && l.preview.draw != nil {
		usual = append(usual, k.List.Preview)
	}
	if l.Page == nil || l.Page.ID != "" {
		usual = append(usual, keymap.All(&k.Item)...)
	}
	usual = append(usual, keymap.All(&k.Nav)...)
	keys = slices.Grow(keys, len(usual))
	for i := range usual {
		if keymap.Index(keys, usual[i].Name) < 0 {
			keys = append(keys, usual[i])
		}
	}
	if l.Page != nil || l.rows.Len() > 0 {
		return keys
	}
	return rowless(l, keys)
}

// rowless returns the keys of a list without rows: those for a row are off.
func rowless[T any](l *List[T], keys []keymap.Key) []keymap.Key {
	k, item, open := l.Env.Keys, l.screen.Item(), l.spec.Rowless
	var off []string
	why := "The list has no rows."
	if !l.Loaded {
		why = "The rows have not been read yet."
	}
	for _, one := range []struct {
		key  keymap.Key
		none bool // it has nothing to act on
	}{{k.List.Open, open == ""}, {k.List.Sort, true}, {k.List.Mark, true}, {k.Item.CopyID, item.ID == ""},
		{k.Item.CopyJSON, len(item.JSON) == 0 && item.NoJSON == ""}, {k.Item.Raw, len(item.JSON) == 0 && item.NoJSON == ""}} {
		if one.none {
			off = append(off, one.key.Name)
		}
	}
	keys = slices.Clone(keys)
	for i := range keys {
		one := &keys[i]
		switch {
		case slices.Contains(off, one.Name):
			one.Set(cmp.Or(one.Why(), why))
		case one.Name == k.List.Open.Name:
			one.SetHelp(one.Help().Key, open)
			one.Long = open
		case keymap.Index(keymap.All(k.Item), one.Name) >= 0:
			one.Extra = true
		}
	}
	return keys
}
