package list

import (
	"cmp"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
	"opdeck/internal/act/remedy"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Rows holds the records of a screen in their order on screen. It
// implements widget.Source.
type Rows[T any] struct {
	Partial bool // some records were not read

	id    func(T) string
	draw  func(T) widget.Row
	all   []T
	shown []T              // the records that match the filter
	base  int              // the row of the first of them
	total int              // how many rows there are, those that are not held included
	at    map[string]int   // by id: its row
	match func(T) bool     // nil: all
	order func(a, b T) int // nil: in the order of Set
}

// NewRows returns rows without records; draw makes the row of a record.
func NewRows[T any](id func(T) string, draw func(T) widget.Row) *Rows[T] {
	return &Rows[T]{id: id, draw: draw}
}

// Set replaces the records.
func (r *Rows[T]) Set(all []T) {
	r.all = all
	r.index()
}

// Narrow shows only the records that match; nil shows all.
func (r *Rows[T]) Narrow(match func(T) bool) {
	r.match = match
	r.index()
}

// Sort sorts the shown records; nil: the order of Set.
func (r *Rows[T]) Sort(order func(a, b T) int) {
	r.order = order
	r.index()
}

func (r *Rows[T]) index() {
	r.shown = r.all
	if r.match != nil {
		r.shown = nil
		for _, record := range r.all {
			if r.match(record) {
				r.shown = append(r.shown, record)
			}
		}
	}
	if r.order != nil {
		r.shown = slices.Clone(r.shown)
		slices.SortStableFunc(r.shown, r.order)
	}
	r.base, r.total = 0, len(r.shown)
	r.at = make(map[string]int, len(r.shown))
	r.place()
}

// place stores the rows of the shown records.
func (r *Rows[T]) place() {
	for i, record := range r.shown {
		r.at[r.id(record)] = r.base + i
	}
}

// Part holds a part of a list that its source filters and sorts: records from the row base on, of total. Other rows of
// an earlier part count as still there, so that marks stay, unless anew is set.
func (r *Rows[T]) Part(total, base int, part []T, anew bool) {
	r.all, r.shown, r.base, r.total = part, part, base, max(total, base+len(part))
	if anew {
		r.at = make(map[string]int, len(part))
	}
	r.place()
}

// Held returns the rows of a part that are held: from the first to before the last.
func (r *Rows[T]) Held() (from, to int) { return r.base, r.base + len(r.shown) }

// Replace shows another state of a record that is held.
func (r *Rows[T]) Replace(record T) {
	if i, ok := r.row(r.id(record)); ok {
		r.shown = slices.Clone(r.shown)
		r.shown[i], r.all = record, r.shown
	}
}

// row finds a shown record by id.
func (r *Rows[T]) row(id string) (int, bool) {
	i, ok := r.at[id]
	if i -= r.base; !ok || i < 0 || i >= len(r.shown) || r.id(r.shown[i]) != id {
		return 0, false
	}
	return i, true
}

// All lists the records, the filtered ones included.
func (r *Rows[T]) All() []T { return r.all }

// Each yields the records, the filtered ones included.
func (r *Rows[T]) Each(yield func(T) bool) { slices.Values(r.all)(yield) }

// Shown lists the records that match the filter.
func (r *Rows[T]) Shown() []T { return r.shown }

// Find finds a record by id, among all records.
func (r *Rows[T]) Find(id string) (T, bool) {
	if i, ok := r.row(id); ok {
		return r.shown[i], true
	}
	if i := slices.IndexFunc(r.all, func(record T) bool { return r.id(record) == id }); i >= 0 && id != "" {
		return r.all[i], true
	}
	var none T
	return none, false
}

// Len implements widget.Source.
func (r *Rows[T]) Len() int { return r.total }

// IndexOf implements widget.Source.
func (r *Rows[T]) IndexOf(id string) int {
	if i, ok := r.at[id]; ok {
		return i
	}
	if _, ok := r.Find(id); ok || r.Partial {
		return widget.Hidden
	}
	return -1
}

// Row implements widget.Source; a row that is not held is drawn as "…".
func (r *Rows[T]) Row(i int) widget.Row {
	if i -= r.base; i < 0 || i >= len(r.shown) {
		return widget.Row{Cells: []string{"…"}}
	}
	return r.draw(r.shown[i])
}

// Ages returns the time when the age of one of the first to last shown records changes next.
func (r *Rows[T]) Ages(from, to int, now time.Time, at func(T) time.Time) time.Time {
	var next time.Time
	for _, record := range r.shown[from:to] {
		_, t := format.Ago(at(record), now)
		next = ui.Sooner(next, t)
	}
	return next
}

// ColumnsOf are columns of records in the table.
func ColumnsOf[T any](list []present.Column[T]) []field.Layout {
	out := make([]field.Layout, len(list))
	for i, c := range list {
		out[i] = c.Layout
	}
	return out
}

// RowOf is the row of a record in these columns.
func RowOf[T any](o present.Options, id string, columns []present.Column[T], r T) widget.Row {
	out := widget.Row{ID: id, Cells: make([]string, len(columns)), Tones: make([]theme.Tone, len(columns))}
	for i, c := range columns {
		cell := c.Cell(o, r)
		out.Cells[i], out.Tones[i] = cell.Text, cell.Tone
	}
	return out
}

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

// Head returns the line above the table: the number of rows, the order, the filter, and
// work in progress.
func (l *List[T]) Head(shown string) string {
	th := l.Env.Theme
	shown += l.ArrivedAbove() + l.Sort.Line(th, l.Sort.mixed())
	if l.Filter.Text != "" {
		shown += th.Dim.Render("  / ") + th.Accent.Render(untrusted.Text(l.Filter.Text).Line(max(l.W-44, 10)))
	}
	if l.Doing != "" {
		shown += th.Info.Render("  " + l.Doing + " …")
	}
	return shown
}

// ArrivedAbove says how many new rows are above the cursor.
func (l *List[T]) ArrivedAbove() string {
	n, th := l.Table.Cursor.ArrivedAbove(), l.Env.Theme
	if n == 0 {
		return ""
	}
	if th.Linear {
		return "  " + format.Count(n) + " new above"
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
	keys := l.screen.HelpKeys()
	if l.Page != nil || !l.Loaded || l.rows.Len() > 0 {
		return keys
	}
	return rowless(l, keys)
}

// rowless returns the keys of a list without rows: those for a row are off.
func rowless[T any](l *List[T], keys []keymap.Key) []keymap.Key {
	k, item, open := l.Env.Keys, l.screen.Item(), l.spec.Rowless
	var off []string
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
			one.Set(cmp.Or(one.Why(), "The list has no rows."))
		case one.Name == k.List.Open.Name:
			one.SetHelp(one.Help().Key, open)
			one.Long = open
		case slices.ContainsFunc(keymap.All(k.Item), func(o keymap.Key) bool { return o.Name == one.Name }):
			one.Extra = true
		}
	}
	return keys
}

// Click implements ui.Pointer: a click on a row selects it, a click on a column's title sorts by
// that column.
func (l *List[T]) Click(x, y int) (row string, a ui.Action, cmd tea.Cmd, ok bool) {
	y -= len(l.above)
	switch {
	case l.Filter.Typing(), l.Page != nil, x >= l.preview.beside(l.W):
		return "", nil, nil, false
	case sorts(l.screen.HelpKeys(), l.Env.Keys.List.Sort) && l.Table.PointColumn(x, y):
		a, cmd = l.key(l.Env.Keys.List.Sort.Msg())
		l.Table.Cursor.Columns.LeaveColumn()
		l.refresh()
		return "", a, cmd, true
	case l.Table.Point(y):
		cmd = l.screen.ReadOn()
		l.refresh()
		return l.Table.Cursor.SelectedID(), nil, cmd, true
	}
	return "", nil, nil, false
}

// sorts reports whether a screen has the key that sorts among its keys.
func sorts(keys []keymap.Key, sort keymap.Key) bool {
	return slices.ContainsFunc(keys, func(k keymap.Key) bool { return k.Name == sort.Name })
}

// Wheel implements ui.Pointer: it scrolls the preview if the pointer is over it.
func (l *List[T]) Wheel(x, y, by int) bool {
	p := &l.preview
	if l.Page != nil || p.w == 0 || x < l.preview.beside(l.W) || y < len(l.above) || y >= l.H-len(l.below) {
		return false
	}
	p.top = max(p.top+by, 0)
	l.refresh()
	return true
}
