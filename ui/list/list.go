// Package list is the list screen: a table, a filter that applies while the person types,
// a page of text that covers the table, and the state of the reads. A screen
// embeds a List and adds its own parts (Screen): its reads, its rows,
// the lines above them, and its keys.
package list

import (
	"cmp"
	"context"
	"iter"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
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
	// HelpKeys returns the keys of the list, or of the open page, in the order in which they matter; those of every list
	// follow by themselves.
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
	// the preview of the record under the cursor, from local data, or of a row that is no record; nil: Detail
	Preview  func(r T, w int) []string
	Beside   func(w int) []string
	Signs    []Sign              // of the rows, for the help
	Sort     *field.Catalogue[T] // the fields by which a Rows is sorted; nil: none
	Orders   *Orders             // of a list that its screen sorts; nil: those by Sort
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
	Sort   Sorting
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
	switch {
	case spec.Preview != nil:
		l.preview.draw = func(w int) []string {
			if r, on := l.held.Find(l.Table.Cursor.SelectedID()); on {
				return spec.Preview(r, w)
			}
			return []string{env.Theme.Dim.Render("This row is being read …")}
		}
	case spec.Beside == nil && spec.Detail != nil:
		l.preview.draw = func(w int) []string { return widget.Pairs(env.Theme, spec.Detail(), w) }
	}
	if spec.Columns != nil {
		l.Table.SetColumns(spec.Columns(0)...)
	}
	if l.Sort.table = l.Table; spec.Orders != nil {
		l.Sort.orders = *spec.Orders
	} else if spec.Sort != nil {
		l.Sort.orders = l.held.orders(&l.Sort, spec.Sort, func() {
			l.Table.Restart()
			l.Changed()
			l.refresh() // a menu's answer is not a message to the list
		})
	}
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
	case l.Sort.orders.Take != nil && k.List.Sort.Match(msg):
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

// ages is how late the ages of rows may be drawn, so that those of a page change together, and how often those beside
// the rows, or on a page above them, are drawn anew.
const ages = 10 * time.Second

// NextTick implements ui.Ticker.
func (l *List[T]) NextTick(now time.Time) time.Time {
	next, soon := l.screen.NextChange(now), now.Add(ages)
	at := l.Table.Until()
	if l.preview.w > 0 || l.Page != nil || !at.IsZero() && at.Before(soon) {
		at = soon
	}
	return ui.Sooner(next, at)
}

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
