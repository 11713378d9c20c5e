// Package list is the list screen: a table, a filter that applies while the person types,
// a page of text that covers the table, and the state of the reads. A screen
// embeds a List and adds its own parts (Screen): its reads, its rows,
// the lines above them, and its keys.
package list

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// Screen has the methods that a screen adds to its List. They are called in the
// update loop; none of them may wait.
type Screen interface {
	tea.Model
	// Answer handles every message that is not a key.
	Answer(tea.Msg) (ui.Action, tea.Cmd)
	// OwnKey handles a key that is not text; false leaves it to the list.
	OwnKey(keymap.Press) (ui.Action, tea.Cmd, bool)
	// Reload reads the rows again.
	Reload() tea.Cmd
	// Filtered shows the rows that match the list's Filter. live: the person is still
	// typing; a read that is recorded or costs a call then waits for enter.
	Filtered(live bool) tea.Cmd
	// ReadOn reads further rows when the cursor comes near the last row that was
	// read; it is called after each move.
	ReadOn() tea.Cmd
	// HeadLines returns the lines above the table while the filter line is closed. The list itself
	// adds the warning that its rows are from an earlier read.
	HeadLines() []string
	// Below returns the lines below the table: by default Spec.Detail.
	Below() []string
	// Item returns the object for the keys that copy an id and show JSON.
	Item() ui.Item
	// Empty returns the text that replaces missing rows; List.NoRows covers the usual cases.
	Empty() widget.Notice
	// HelpKeys returns the keys of the list, or of the open page.
	HelpKeys() []keymap.Key
	// Refresh updates everything that depends on the row under the cursor or on
	// time, such as keys that are off; it is called after each message.
	Refresh()
	// NextChange returns the time when the shown text changes next; zero: never.
	NextChange(now time.Time) time.Time
}

var (
	_ ui.HelpTopic = (*List[struct{}])(nil)
	_ ui.Ticker    = (*List[struct{}])(nil)
)

// Spec is the constant part of a list of records T.
type Spec[T any] struct {
	Title   string
	Place   ui.Place
	Origin  string // of the rows: "inbox"
	Class   string // budget class of a reload; "": none
	Reading string // "Reading the inbox …"
	None    string // "No event matches the filter."
	Further string // "No event matches among those read so far."; "": all records are read at once

	Columns func(w int) []field.Layout // in a window of w cells; nil: the screen sets them
	Detail  func() []widget.Pair       // facts of the row under the cursor; nil: none
	// the preview of the row under the cursor, from local data; nil: Detail
	Beside   func(w int) []string
	Signs    []Sign              // of the rows, for the help
	Sort     *field.Catalogue[T] // the fields by which a Rows is sorted; nil: none
	Marks    bool                // rows can be marked
	Rowless  string              // what enter does in a list without rows ("open by id"); "": nothing
	OwnStale bool                // HeadLines has List.Stale among its lines

	Language *filter.Table[T]
	Example  string      // a filter, as a hint
	Start    string      // the first filter; an invalid one counts as none
	Records  iter.Seq[T] // the records that were read, newest first; the filter offers their values
	// Ask finds further values to offer, in a command. May be nil.
	Ask func(ctx context.Context, field, typed string) []string
}

// TitleOf is the title of a list of the records of one object: by its name, or by its id while the name is "".
// Without both it is the title alone.
func TitleOf(title, name, id string) string {
	if name == "" && id == "" {
		return title
	}
	return title + " of " + cmp.Or(draw.Cut(name, 30), draw.ID(id, 13))
}

// List is a list screen that consists of parts. It implements ui.Screen.
type List[T any] struct {
	ui.Wanted
	Reads
	Defaults
	Env    *ui.Env
	Table  *widget.Table // the rows, the cursor and the marks
	Filter FilterLine[T]
	Sort   Sorting[T]
	Page   *Page // covers the list; nil: none
	W, H   int   // the size of the screen, in cells

	spec      Spec[T]
	screen    Screen
	rows      widget.Source
	held      *Rows[T] // the rows, if they are records of the list itself; else nil
	wanted    string   // the row that the cursor goes to once it is read; "": none
	above     []string
	saidStale bool // the last line above warns that the rows are from an earlier read
	below     []string
	preview   preview
	zone      *time.Location // that the head of the table names
}

// New returns a list of rows; screen is the screen that embeds it.
func New[T any](env *ui.Env, screen Screen, rows widget.Source, spec Spec[T]) *List[T] {
	l := &List[T]{Env: env, screen: screen, rows: rows, spec: spec,
		Reads:   Reads{Loads: env.Requests(), More: env.Requests()},
		Table:   widget.NewTable(env.Theme, env.Keys, spec.Marks),
		preview: preview{env: env, draw: spec.Beside}}
	l.preview.table = l.Table
	if l.held, _ = rows.(*Rows[T]); l.held != nil && spec.Records == nil {
		spec.Records = l.held.Each
	}
	if spec.Beside == nil && spec.Detail != nil {
		l.preview.draw = func(w int) []string { return widget.Pairs(env.Theme, spec.Detail(), w) }
	}
	if spec.Columns != nil {
		l.Table.SetColumns(spec.Columns(0)...)
	}
	l.Sort = Sorting[T]{by: spec.Sort, held: l.held, table: l.Table, sorted: func() {
		l.Changed()
		l.refresh() // a menu's answer is not a message to the list
	}}
	l.Filter = FilterLine[T]{env: env, kind: spec.Place.Kind, language: spec.Language, example: spec.Example,
		records: spec.Records, rows: rows.Len, ask: spec.Ask, seek: env.Requests(),
		filtered: func(live bool) tea.Cmd {
			l.Table.Cursor.Other()
			return screen.Filtered(live)
		}}
	if e, err := l.Filter.parse(spec.Start); err == nil {
		l.Filter.Show(e, strings.TrimSpace(spec.Start))
	}
	return l
}

// Init implements ui.Screen for a screen that begins with Reload.
func (l *List[T]) Init() tea.Cmd { return l.screen.Reload() }

// Update implements ui.Screen.
func (l *List[T]) Update(msg tea.Msg) (tea.Model, tea.Cmd) { return l.screen, l.Keep(l.take(msg)) }

func (l *List[T]) take(msg tea.Msg) (ui.Action, tea.Cmd) {
	var action ui.Action
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if w := msg.Width; l.spec.Columns != nil && w != l.W {
			l.Table.SetColumns(l.spec.Columns(w)...)
		}
		l.W, l.H = msg.Width, msg.Height
		l.refresh()
		return nil, nil
	case tea.KeyMsg:
		action, cmd = l.key(keymap.Read(msg))
	case keymap.Press:
		action, cmd = l.key(msg)
	case offersMsg:
		l.Filter.offered(msg)
	case ui.DisplayChanged:
		cmd = l.Filter.follow()
	default:
		var ok bool
		if action, cmd, ok = ui.Answered(msg); !ok {
			action, cmd = l.screen.Answer(msg)
		}
	}
	l.refresh()
	return action, cmd
}

// key handles a key: as text, else by the screen's own keys, else by those of every list.
func (l *List[T]) key(msg keymap.Press) (ui.Action, tea.Cmd) {
	l.wanted = ""
	switch {
	case l.Filter.Typing():
		return l.Filter.take(msg)
	case l.Page.searching():
		l.Page.View.Update(msg)
		return nil, nil
	}
	if action, cmd, ok := l.screen.OwnKey(msg); ok {
		return action, cmd
	}
	k := l.Env.Keys
	if action, ok := ui.TakeItem(l.Env, msg, l.screen.Item); ok {
		return action, nil
	}
	back := k.Global.Back.Match(msg) || k.Global.Quit.Match(msg)
	switch {
	case k.Global.Reload.Match(msg):
		return nil, l.screen.Reload()
	case l.Page != nil && back:
		if !l.Page.View.Clear() {
			l.Page = nil
		}
		return ui.Handled{}, nil
	case l.Page != nil:
		l.Page.View.Update(msg)
		return nil, nil
	case back:
		return l.back()
	case k.List.Filter.Match(msg):
		return nil, l.Filter.open()
	case l.spec.Sort != nil && k.List.Sort.Match(msg):
		return l.Sort.ask()
	case k.List.Preview.Match(msg) && l.preview.draw != nil:
		return l.preview.switchOver(l.W), nil
	case l.spec.Marks && k.List.Remark.Match(msg):
		return remark(l.Table), nil
	}
	l.Table.Update(msg)
	return nil, l.screen.ReadOn()
}

// back undoes one state at a time: the chosen column, the marks, the filter.
func (l *List[T]) back() (ui.Action, tea.Cmd) {
	if l.Table.Cursor.Columns.LeaveColumn() {
		return ui.Handled{}, nil
	}
	if n := l.Table.Unmark(); n > 0 {
		return ui.Notify{Level: ui.Info, Text: format.Plural(n, "mark", "marks") + " cleared; " +
			l.Env.Keys.List.Remark.Help().Key + " restores them."}, nil
	}
	if !l.Filter.Shown.Empty() {
		l.Filter.Show(filter.Expr[T]{}, "")
		return ui.Handled{}, l.Filter.filtered(false)
	}
	return nil, nil
}

// remark restores the marks that were cleared last.
func remark(t *widget.Table) ui.Action {
	n := t.Remark()
	if n == 0 {
		return ui.Notify{Level: ui.Denied, Text: "No cleared marks to restore in this list."}
	}
	return ui.Notify{Level: ui.Info, Text: format.Plural(n, "mark", "marks") + " restored."}
}

// Filtered implements Screen for a list whose Rows have all records.
func (l *List[T]) Filtered(bool) tea.Cmd {
	l.held.Narrow(func(r T) bool { return l.Filter.Shown.Match(r, l.Env.Now()) })
	if l.held.IndexOf(l.Table.Cursor.SelectedID()) < 0 { // it is filtered out, not gone
		l.Table.Restart()
	}
	l.Changed()
	return nil
}

// Changed is called after each change of the rows.
func (l *List[T]) Changed() {
	l.Table.SetSource(l.rows)
	if l.wanted != "" && l.Table.Cursor.Select(l.wanted) {
		l.wanted = ""
	}
}

// refresh lays the screen out for View.
func (l *List[T]) refresh() {
	l.screen.Refresh()
	if l.Page != nil {
		l.Page.lay(l.W, l.H)
		return
	}
	l.preview.fit(l.W, l.rows.Len() > 0)
	beside := l.preview.beside(l.W)
	l.Table.SetNotice(l.screen.Empty())
	if zone := l.Env.Zone(); zone != l.zone {
		l.zone = zone
		l.Table.SetZone(format.Zone(zone, l.Env.Now()))
	}
	l.Table.SetWidth(beside) // Below may use the widths of the columns
	l.below = l.screen.Below()
	l.Table.SetSize(beside, max(l.H-max(len(l.above), 1)-len(l.below), 1))
	l.Table.Measure() // the lines above name the columns without room
	if l.Filter.Typing() {
		l.above = l.Filter.bar.Lines(l.Env.Theme, l.W)
	} else {
		l.above = l.over()
	}
	room := max(l.H/2, 1)
	if l.rows.Len() == 0 {
		room = l.H
	}
	l.saidStale = !l.Filter.Typing() && len(l.Stale()) > 0 && len(l.above) <= room
	l.above = l.above[:min(len(l.above), room)]
	h := max(l.H-len(l.above)-len(l.below), 1)
	l.Table.SetSize(beside, h)
	l.preview.lay(l.Table.Cursor.SelectedID(), h)
}

// View implements ui.Screen.
func (l *List[T]) View() string { return strings.Join(l.Lines(), "\n") }

// Lines returns the view in lines.
func (l *List[T]) Lines() []string {
	if l.Page != nil {
		return l.Page.View.Lines()
	}
	side := " " + l.Env.Theme.Rule.Render(l.Env.Theme.Signs.Side) + " "
	lines := append(draw.Lay(l.above, l.W, len(l.above)), l.preview.join(l.Table.Lines(), l.preview.beside(l.W), side)...)
	lines = append(lines, draw.Lay(l.below, l.W, len(l.below))...)
	if len(lines) != l.H {
		lines = draw.Lay(lines, l.W, l.H)
	}
	return lines
}

// NextTick implements ui.Ticker.
func (l *List[T]) NextTick(now time.Time) time.Time { return l.screen.NextChange(now) }

// Editing implements ui.Screen.
func (l *List[T]) Editing() bool { return l.Filter.Typing() || l.Page.searching() }

// Unsaved implements ui.UnsavedText.
func (l *List[T]) Unsaved() string {
	if l.Filter.unsaved() {
		return "the filter you typed"
	}
	return ""
}

// Title implements ui.Screen.
func (l *List[T]) Title() string { return l.spec.Title }

// Place implements ui.Screen.
func (l *List[T]) Place() ui.Place { return l.spec.Place }

// Source implements ui.Screen.
func (l *List[T]) Source() ui.Source {
	return ui.Source{Origin: l.spec.Origin, At: l.At, Class: l.spec.Class, Loading: l.Loads.Busy() || l.More.Busy(),
		Problem: ui.Problem(l.Err)}
}

// Reads holds the reads of a list and their results.
type Reads struct {
	Loads  *ui.Requests // the rows
	More   *ui.Requests // further rows
	At     time.Time    // when the rows were read
	Err    *api.Error   // of the last read
	Loaded bool         // the first read was answered
	Doing  string       // work in progress: "exporting"
}

// Failed records the result of a read and reports whether it failed.
func (r *Reads) Failed(err error) bool {
	r.Loaded, r.Err = true, api.AsError(err)
	return err != nil
}

// OneThing returns a refusal while other work is in progress.
func OneThing(doing string) (ui.Action, bool) {
	return ui.Notify{Level: ui.Denied, Text: "Wait: " + doing + "."}, doing != ""
}

const maxPast = 50 // filters

// past holds the person's earlier filters while the filter line is open.
type past struct {
	list  []string // newest first
	at    int      // from 1 into list; 0: the typed text
	draft string   // the typed text while at is not 0
}

// readPast reads the filters of this kind of list.
func (l *FilterLine[T]) readPast() tea.Cmd {
	l.past.at, l.past.draft = 0, ""
	memory, kind := l.env.Filters(), l.kind
	if memory.Last == nil {
		return nil
	}
	read := func(ctx context.Context) ([]string, error) { return memory.Last(ctx, kind) }
	return ui.Reading(l.env, nil, read, func(list []string, _ time.Time, err error) {
		if err == nil && l.past.at == 0 { // missing earlier filters are not an error of the filter
			l.past.list = list
		}
	})
}

// recall replaces the typed filter by an earlier one; false if the key is not for
// this.
func (l *FilterLine[T]) recall(msg keymap.Press) (tea.Cmd, bool) {
	k, p := l.env.Keys.Menu, &l.past
	step := 1
	switch {
	case k.Up.Match(msg):
	case k.Down.Match(msg):
		step = -1
	default:
		return nil, false
	}
	to := p.at + step
	if to < 0 || to > len(p.list) {
		return nil, true
	}
	if p.at == 0 {
		p.draft = l.bar.Value()
	}
	text := p.draft
	if p.at = to; to > 0 {
		text = p.list[to-1]
	}
	l.bar = widget.NewFilterBar(text, l.example, maxFilter)
	return tea.Batch(l.try(), l.offer()), true
}

// remember stores a confirmed filter.
func (l *FilterLine[T]) remember(text string) tea.Cmd {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(l.past.list), func(o string) bool { return o == text })
	l.past.list = append([]string{text}, rest[:min(len(rest), maxPast-1)]...)
	memory, kind := l.env.Filters(), l.kind
	if memory.Keep == nil {
		return nil
	}
	return l.env.Read(nil, func(ctx context.Context) ui.Then {
		_ = memory.Keep(context.WithoutCancel(ctx), kind, text) // it holds until the list is closed
		return func() (ui.Action, tea.Cmd) { return nil, nil }
	})
}

// Pages are the records of a list that the service returns in pages, as far as they
// were read. It is immutable: With returns a new value.
type Pages[T any] struct {
	ID  func(T) string
	All []T // in the order of the service, without duplicates
	Odd int // records without an identifier, which are not in All

	next  api.PageAt // the next page to read
	more  bool       // there may be one
	total string     // as the service sent it; "": it sent none
	whole bool       // the last page proves that All is complete
}

// With returns the records with the page at; the first page replaces all earlier ones.
func (p Pages[T]) With(at api.PageAt, got api.Page[T]) Pages[T] {
	out := Pages[T]{ID: p.ID, total: string(got.Total)}
	if at.Page > 0 {
		out.All, out.Odd = append(out.All, p.All...), p.Odd
	}
	out.Odd += got.Unusable
	known := map[string]bool{"": true}
	for _, r := range out.All {
		known[p.ID(r)] = true
	}
	before := len(out.All)
	for _, r := range got.Items {
		if id := p.ID(r); !known[id] { // pages shift when records come
			known[id] = true
			out.All = append(out.All, r)
		}
	}
	out.whole = got.Whole(len(out.All))
	out.next, out.more = got.Then(at, len(out.All) > before)
	return out
}

// Next returns the next page to read.
func (p Pages[T]) Next() api.PageAt { return p.next }

// Whole reports whether these are all records, by api.Page.Whole.
func (p Pages[T]) Whole() bool { return p.whole }

// Ended reports whether there is nothing left to read: these are all records, or the
// last page had no new one.
func (p Pages[T]) Ended() bool { return p.whole || p.next.Page > 0 && !p.more }

// Done reports whether nothing is left to read, or nothing was read yet.
func (p Pages[T]) Done() bool { return p.next.Page == 0 || p.Ended() }

// Of returns the service's total as text, " of 45"; "" if the service sent none.
func (p Pages[T]) Of() string {
	if p.total == "" {
		return ""
	}
	return " of " + untrusted.Text(p.total).Line(20)
}

// Read says how many of the records called many were read.
func (p Pages[T]) Read(many string) string {
	switch n := len(p.All); {
	case p.Whole() && n == 0:
		return "No " + many
	case p.Whole():
		return "All " + many + " read: " + format.Count(n)
	case p.Ended():
		return format.Count(n) + p.Of() + " " + many + " read; the service lists no others"
	default:
		return format.Count(n) + p.Of() + " " + many + " read"
	}
}

// Page is a text that covers the list: a record, a report.
type Page struct {
	ID   string // of the page's record; "": none
	View *widget.Viewer

	layer ui.Layer
	fill  func(w int) []string
}

// Open opens a page above the list: of the record id, "" for none. crumb is its short name, and fill draws its lines
// for a width, again after each message.
func (l *List[T]) Open(id, crumb string, fill func(w int) []string) {
	l.Page = &Page{ID: id, layer: ui.Layer{Crumb: crumb}, fill: fill,
		View: widget.NewViewer(l.Env.Theme, l.Env.Keys).Footed()}
}

// Layer implements ui.Layered: the page.
func (l *List[T]) Layer() *ui.Layer {
	if l.Page == nil {
		return nil
	}
	return &l.Page.layer
}

func (p *Page) lay(w, h int) {
	p.View.SetSize(w, h)
	p.View.SetLines(p.fill(w))
}

// Seeking reports whether there is a search in the page, which then gets the screen's
// keys. It works on a nil page.
func (p *Page) Seeking() bool { return p != nil && p.View.Seeking() }

// searching reports whether the person is typing the search text.
func (p *Page) searching() bool { return p != nil && p.View.Searching() }

// ItemID returns the id of the page's record, else of the row under the cursor.
func (l *List[T]) ItemID() string {
	if l.Page != nil {
		return l.Page.ID
	}
	return l.Table.Cursor.SelectedID()
}

// Step implements ui.Stepper: the page shows the record that is by rows further
// down. It has no effect at an end of the list, or on a page without a record.
func (l *List[T]) Step(by int) (ui.Action, tea.Cmd, bool) {
	if l.Page == nil || l.Page.ID == "" {
		return nil, nil, false
	}
	nav, before := l.Env.Keys.Nav, l.Page.ID
	l.Table.Cursor.Select(before)
	move := nav.Down
	if by < 0 {
		move = nav.Up
	}
	l.Page = nil
	_, moved := l.take(move.Msg())
	if l.Table.Cursor.SelectedID() == before {
		by = 0
	}
	action, opened := l.take(l.Env.Keys.List.Open.Msg())
	if by == 0 {
		action = ui.Many{action, ui.Notify{Level: ui.Info, Text: "End of the list."}}
	}
	return action, tea.Batch(moved, opened), true
}
