package list

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

const (
	maxFilter   = 16000 // characters: a pasted list of some hundred ids
	seenRecords = 1000  // newest records whose values are offered
)

// FilterLine is the filter of a list and its input line.
type FilterLine[T any] struct {
	Shown   filter.Expr[T] // the filter of the shown rows, also during typing
	Applied filter.Expr[T] // the filter that enter confirmed
	Text    string         // Applied as typed

	env      *ui.Env
	zone     *time.Location // in which Shown reads days
	kind     string         // of the list, for the stored filters
	language *filter.Table[T]
	example  string
	records  iter.Seq[T]
	rows     func() int // how many are shown
	ask      func(ctx context.Context, field, typed string) []string
	filtered func(live bool) tea.Cmd // Screen.Filtered
	bar      *widget.FilterBar       // nil: the input line is closed
	past     past
	seek     *ui.Requests // reads of values to offer
}

// parse reads a filter as this person may use it.
func (l *FilterLine[T]) parse(text string) (filter.Expr[T], error) {
	e, err := l.language.Parse(text)
	e = e.For(l.env.Ctx) // a person with masked values cannot search the hidden characters
	l.zone = l.env.Zone()
	return e.In(l.zone), err
}

// follow reads the days of the filter in the time zone that lists show now.
func (l *FilterLine[T]) follow() tea.Cmd {
	if l.zone == l.env.Zone() || l.Shown.Empty() {
		return nil
	}
	l.zone = l.env.Zone()
	l.Shown, l.Applied = l.Shown.In(l.zone), l.Applied.In(l.zone)
	return l.filtered(true)
}

// Typing reports whether a filter is being typed.
func (l *FilterLine[T]) Typing() bool { return l.bar != nil }

// unsaved reports whether leaving would lose typed text.
func (l *FilterLine[T]) unsaved() bool { return l.bar != nil && l.bar.Value() != l.Text }

// Show sets the filter, as if the person had typed and confirmed it.
func (l *FilterLine[T]) Show(e filter.Expr[T], text string) {
	l.zone = l.env.Zone()
	e = e.In(l.zone)
	l.Shown, l.Applied, l.Text = e, e, text
}

// open opens the input line. Each key applies a valid filter; for an invalid one the line shows
// the mistake, and the list keeps the last valid filter.
func (l *FilterLine[T]) open() tea.Cmd {
	l.bar = widget.NewFilterBar(l.Text, l.example, maxFilter)
	l.bar.Select()
	return tea.Batch(l.readPast(), l.offer())
}

// take handles a key in the input line.
func (l *FilterLine[T]) take(msg keymap.Press) (ui.Action, tea.Cmd) {
	if cmd, ok := l.recall(msg); ok {
		return nil, cmd
	}
	k, at := l.env.Keys.Form, l.bar.At()
	switch {
	case k.Cancel.Match(msg):
		l.close()
		if l.Shown.String() == l.Applied.String() {
			return ui.Handled{}, nil
		}
		l.Shown = l.Applied
		return ui.Handled{}, l.filtered(true)
	case k.Submit.Match(msg):
		return nil, l.submit()
	case k.Next.Match(msg):
		if !l.bar.Complete() {
			return nil, nil
		}
		if l.bar.Choosing() {
			return nil, l.try()
		}
		return nil, tea.Batch(l.try(), l.offer())
	case l.bar.Type(msg):
		return nil, tea.Batch(l.try(), l.offer())
	case at != l.bar.At():
		return nil, l.offer()
	}
	return nil, nil
}

// Offers reports whether the input line offers completions.
func (l *FilterLine[T]) Offers() bool { return l.bar != nil && l.bar.Offers() }

// Offer returns the completion that the next key takes; "" if there is none.
func (l *FilterLine[T]) Offer() string {
	if !l.Offers() {
		return ""
	}
	return l.bar.Next()
}

func (l *FilterLine[T]) close() {
	l.bar = nil
	l.seek.Stop()
}

// try applies the typed filter if it is valid.
func (l *FilterLine[T]) try() tea.Cmd {
	e, err := l.parse(l.bar.Value())
	if wrong := (*filter.Error)(nil); errors.As(err, &wrong) {
		still := "Not filtered: all " + format.Plural(l.rows(), "row", "rows") + " shown"
		if !l.Shown.Empty() {
			still = "showing the last valid filter: " + l.Shown.String()
		}
		l.bar.Wrong(wrong.Column, strings.TrimSpace(wrong.What+" "+wrong.Hint), still)
		return nil
	}
	l.bar.Right(e.Understood(l.env.Now())...)
	if e.String() == l.Shown.String() {
		return nil
	}
	l.Shown = e
	return l.filtered(true)
}

// submit confirms the typed filter; an invalid one has no effect.
func (l *FilterLine[T]) submit() tea.Cmd {
	cmd := l.try()
	if l.bar.IsWrong() {
		return nil
	}
	l.Applied, l.Text = l.Shown, strings.TrimSpace(l.bar.Value())
	l.close()
	return tea.Batch(cmd, l.filtered(false), l.remember(l.Text))
}

// offersMsg has completions of a filter, with values from Spec.Ask.
type offersMsg struct {
	ui.Ticket
	offers []widget.Offer
}

// offer lists the completions at the cursor: at once those of the language and of the
// records, and later those of Spec.Ask, in a read that the next key cancels.
func (l *FilterLine[T]) offer() tea.Cmd {
	v, at, language, ask := l.bar.Value(), l.bar.At(), l.language, l.ask
	asked := false
	l.seek.Stop()
	l.bar.Offer(complete(language, v, at, func(field, _ string) []string {
		asked = ask != nil
		return l.seen(field)
	}))
	if !asked {
		return nil
	}
	t, ctx := l.seek.Start(l.env.Ctx)
	return func() tea.Msg {
		return offersMsg{t, complete(language, v, at, func(field, typed string) []string { return ask(ctx, field, typed) })}
	}
}

func complete[T any](language *filter.Table[T], v string, at int, known filter.Seen) []widget.Offer {
	var out []widget.Offer
	for _, o := range language.Complete(v, at, known) {
		out = append(out, widget.Offer{Text: o.Text, From: o.From, To: o.To})
	}
	return out
}

func (l *FilterLine[T]) offered(msg offersMsg) {
	if l.seek.Accept(msg.Ticket) && l.bar != nil {
		l.bar.Offer(msg.offers)
	}
}

// seen returns the values of a field in the records that were read.
func (l *FilterLine[T]) seen(name string) []string {
	fields := l.language.Fields()
	i := slices.IndexFunc(fields, func(f filter.Field[T]) bool { return f.Name == name })
	if i < 0 || fields[i].Strings == nil || l.records == nil {
		return nil
	}
	values := fields[i].Strings
	if fields[i].Masked != nil && l.env.Masked() {
		values = fields[i].Masked
	}
	var all []string
	n := 0
	for record := range l.records {
		for _, v := range values(record) {
			if u := untrusted.Text(v); v != "" && !u.Flags().Suspicious() { // an offered value must be typable
				all = append(all, u.Line(128))
			}
		}
		if n++; n == seenRecords {
			break
		}
	}
	return widget.MostSeen(all)
}

// Order is the sort order of a list; By is "" for the order of its source.
type Order struct {
	By   string // a field's name
	Down bool
}

// Orders are the possible orders of a list.
type Orders struct {
	Fields []string                 // their names; "": the order of the source
	Usual  func(field string) Order // the first order of a field; nil: ascending
	Note   func(Order) string       // says what comes first in an order
	Take   func(Order) tea.Cmd      // sorts
}

// Sorting is the order of a list's rows, and its choice by the person.
type Sorting[T any] struct {
	Order // the current one

	by     *field.Catalogue[T] // nil: the screen sorts by itself
	held   *Rows[T]
	table  *widget.Table
	sorted func() // called after sorting
}

// Ask sorts by the chosen column, in reverse if the list is already sorted by it. Without a
// chosen column it opens a menu at the current order.
func (s *Sorting[T]) Ask(now Order, all Orders) (ui.Action, tea.Cmd) {
	next := func(by string) Order {
		switch {
		case by == now.By && by != "":
			return Order{by, !now.Down}
		case all.Usual != nil:
			return all.Usual(by)
		}
		return Order{By: by}
	}
	if column := s.table.Cursor.Columns.Column(); column != "" {
		if !slices.Contains(all.Fields, column) {
			return ui.Notify{Level: ui.Denied, Text: "Cannot sort by " + column + ". Sortable: " +
				strings.Join(named(all.Fields), ", ") + "."}, nil
		}
		return nil, all.Take(next(column))
	}
	items := make([]ui.Choice, len(all.Fields))
	for i, f := range all.Fields {
		items[i] = ui.Choice{Text: cmp.Or(f, "original order"), Note: all.Note(next(f))}
		if f == now.By && f != "" {
			items[i].Text += ", reversed"
		}
	}
	return ui.Choose{Title: "Sort by", Items: items, At: max(slices.Index(all.Fields, now.By), 0),
		Pick: func(i int) (ui.Action, tea.Cmd) {
			return nil, all.Take(next(all.Fields[i]))
		}}, nil
}

// named returns the fields with a name.
func named(fields []string) []string {
	return slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return f == "" })
}

// Direction says what is first in an order by a field of that kind.
func Direction(k field.Kind, o Order) string {
	up, down := "A to Z", "Z to A"
	switch k {
	case field.Time:
		up, down = "oldest first", "newest first"
	case field.Money, field.Count:
		up, down = "smallest first", "largest first"
	case field.Flag:
		up, down = "no first", "yes first"
	}
	switch {
	case o.By == "":
		return ""
	case o.Down:
		return down
	}
	return up
}

// ask sorts the records that the list holds by a field of the catalogue.
func (s *Sorting[T]) ask() (ui.Action, tea.Cmd) {
	return s.Ask(s.Order, Orders{Fields: append([]string{""}, s.by.Sortable()...),
		Note: s.direction, Take: func(o Order) tea.Cmd {
			s.Order = o
			s.held.Sort(s.compare())
			s.Show()
			s.table.Restart()
			s.sorted()
			return nil
		}})
}

func (s *Sorting[T]) direction(o Order) string {
	if o.By == "" {
		return ""
	}
	return Direction(s.by.Get(o.By).Kind, o)
}

// Show marks the column that rows are sorted by; a screen that changes the columns
// calls it.
func (s *Sorting[T]) Show() {
	s.table.Cursor.Columns.SetSort(slices.Index(s.table.Cursor.Columns.Titles(), s.By), s.Down)
}

// Line is the order as it is over the list: also while its column is not shown.
// mixed: the field is an amount, of several currencies.
func (o Order) Line(th *theme.Theme, mixed bool) string {
	if o.By == "" {
		return ""
	}
	line := "  by " + o.By + " " + th.Signs.Up
	if o.Down {
		line = "  by " + o.By + " " + th.Signs.Down
	}
	if mixed {
		line += ", by number only: currencies are mixed"
	}
	return th.Dim.Render(line)
}

// mixed reports whether the list is sorted by amounts of several currencies.
func (s *Sorting[T]) mixed() bool {
	if s.By == "" || s.by == nil {
		return false
	}
	f, one := s.by.Get(s.By), ""
	if f.Kind != field.Money {
		return false
	}
	for _, r := range s.held.Shown() {
		code := string(f.Money(r).CurrencyCode)
		if one != "" && code != "" && code != one {
			return true
		}
		one = cmp.Or(one, code)
	}
	return false
}

// compare compares records by the present field; nil: none.
func (s *Sorting[T]) compare() func(a, b T) int {
	if s.By == "" {
		return nil
	}
	f := s.by.Get(s.By)
	return func(a, b T) int {
		if s.Down {
			a, b = b, a
		}
		return compare(f, a, b)
	}
}

func compare[T any](f field.Field[T], a, b T) int {
	switch f.Kind {
	case field.Time:
		return f.Time(a).Compare(f.Time(b).Time)
	case field.Count:
		return cmp.Compare(f.Count(a), f.Count(b))
	case field.Money:
		return cmp.Compare(filter.MoneyKey(f.Money(a)), filter.MoneyKey(f.Money(b)))
	}
	return cmp.Compare(strings.ToLower(string(f.Text(a))), strings.ToLower(string(f.Text(b))))
}

const (
	previewFrom = 140 - ui.Margins // cells of the screen from which there is a preview at all
	previewLess = 40               // its least width
	previewMost = 56               // and its greatest: an id with its label
	previewGap  = 3                // cells between the rows and it

	// previewed is the lowest HidePriority of columns whose room the preview takes: it says of the row under the
	// cursor what they do. The others tell rows apart, and stay.
	previewed = 8
)

// preview is the row under the cursor, drawn beside the rows.
type preview struct {
	env   *ui.Env
	table *widget.Table        // the rows
	draw  func(w int) []string // the row under the cursor in w cells; nil: there is no preview
	w     int                  // its width in cells; 0: hidden
	row   string               // the id of its row
	top   int                  // the first visible line
	lines []string
}

// fit sets the width of the preview in a window of w cells: 0 if it has no room, is switched off
// or has no content.
func (p *preview) fit(w int, rows bool) {
	p.w = 0
	if p.draw != nil && rows && w >= p.from() && !p.env.Theme.Linear && p.env.Preview() {
		p.w = min(w-p.need()-previewGap, previewMost)
	}
}

// need is the width of the rows with all columns that tell them apart.
func (p *preview) need() int { return p.table.Cursor.Columns.Needs(previewed - 1) }

// from is the width of the screen from which it has room for the preview.
func (p *preview) from() int { return max(previewFrom, p.need()+previewGap+previewLess) }

// beside returns the width of the rows in a window of w cells.
func (p *preview) beside(w int) int {
	if p.w == 0 {
		return w
	}
	return w - p.w - previewGap
}

// lay draws the row under the cursor in h lines, once per message.
func (p *preview) lay(row string, h int) {
	if p.lines = nil; p.w == 0 {
		return
	}
	lines := p.draw(p.w)
	if row != p.row {
		p.row, p.top = row, 0
	}
	p.top = max(min(p.top, len(lines)-h), 0)
	if lines = lines[p.top:]; len(lines) > h && h > 1 {
		th := p.env.Theme
		more := len(lines) - h + 1
		lines = append(lines[:h-1:h-1], th.Dim.Render(th.Signs.More+" "+format.Plural(more, "line", "lines")+" more, "+
			p.env.Keys.List.Open.Help().Key+" opens it"))
	}
	p.lines = draw.Lay(lines, p.w, h)
}

// join adds the preview to the lines of the table.
func (p *preview) join(rows []string, w int, side string) []string {
	if p.w == 0 || len(p.lines) < len(rows) {
		return rows
	}
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = draw.Pad(row, w) + side + p.lines[i]
	}
	return out
}

// switchOver shows or hides the preview; it shows a notice if a window of w cells has no room for it.
func (p *preview) switchOver(w int) ui.Action {
	on := !p.env.Preview()
	act := p.env.SwitchPreview()
	if from := p.from(); on && w < from {
		return ui.Many{act, ui.Notify{Level: ui.Info, Text: "The preview is on. It needs " +
			format.Count(from+ui.Margins) + " columns; this window has " + format.Count(w+ui.Margins) + "."}}
	}
	return act
}
