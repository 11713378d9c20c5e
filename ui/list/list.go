// Package list is the one list screen: a table with a filter above it that acts
// while it is typed, a page of text over it, and the state of its reads. A screen
// embeds a List and says what is its own (Screen): what it reads, what its rows
// are, what stands above them, and its keys.
package list

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// Screen is what a screen adds to its List. All methods are called from the
// update loop; none of them may wait.
type Screen interface {
	tea.Model
	// Answer takes every message that is not a key.
	Answer(tea.Msg) (ui.Action, tea.Cmd)
	// OwnKey takes a key that is not text; false leaves it to the list.
	OwnKey(keymap.Press) (ui.Action, tea.Cmd, bool)
	// Reload reads the rows again.
	Reload() tea.Cmd
	// Filtered shows what the list's Filter lets through. live: it is still being
	// typed, and what leaves a trace or costs a call waits for enter.
	Filtered(live bool) tea.Cmd
	// ReadOn reads further rows when the cursor comes near the edge of what was
	// read; it is asked after each move.
	ReadOn() tea.Cmd
	// Above is what stands over the table while no filter is typed; that its rows are
	// those of an earlier read the list says itself.
	Above() []string
	// Below is what stands under the table: by default Spec.Detail.
	Below() []string
	// Item is what the keys for an id and for JSON are about.
	Item() ui.Item
	// Empty stands in the place of rows; List.NoRows words the usual cases.
	Empty() widget.Notice
	// HelpKeys are the keys of the list, or of the page when one is open.
	HelpKeys() []keymap.Key
	// Refresh brings up to date what depends on the row under the cursor or on
	// time, as keys that are off; it is called after each message.
	Refresh()
	// NextChange is when time alone changes what is shown; zero: never.
	NextChange(now time.Time) time.Time
}

// Spec is what does not change of a list of records T.
type Spec[T any] struct {
	Title   string
	Place   ui.Place
	Origin  string // of the rows: "inbox"
	Class   string // budget class that a reload costs; empty: none
	Reading string // "Reading the inbox …"
	None    string // "No event matches the filter."
	Further string // "No event matches among those read so far."; empty: all is read

	Columns func(w int) []widget.Column // in a window of w cells; nil: the screen sets them
	Detail  func() []widget.Pair        // about the row under the cursor; nil: nothing
	// the row under the cursor as it is drawn when it is open, from what is at hand; nil: Detail
	Beside   func(w int) []string
	Signs    []Sign              // of the rows, for the help
	Sort     *field.Catalogue[T] // rows that a Rows holds are sorted by its fields; nil: by none
	Marks    bool                // rows can be marked
	NoGap    bool                // no space between the row's sign and its first cell
	OwnStale bool                // Above has List.Stale among its lines

	Language *filter.Table[T]
	Example  string      // a filter, as a hint
	Start    string      // the filter to begin with; one that is wrong counts as none
	Records  iter.Seq[T] // those that were read, the newest first: their values are offered
	// Ask finds values to offer elsewhere, in a command; nil: Records has them.
	Ask func(ctx context.Context, field, typed string) []string
}

// List is the state of a list screen. It implements ui.Screen.
type List[T any] struct {
	ui.Wanted
	Env    *ui.Env
	Table  *widget.Table
	Loads  *ui.Requests // the rows
	More   *ui.Requests // further rows
	At     time.Time    // when the rows were read
	Err    *api.Error
	Loaded bool   // the first read was answered
	Doing  string // "exporting", while it is under way
	Page   *Page  // over the list; nil: none

	Filter  filter.Expr[T] // what is shown
	Applied filter.Expr[T] // what was confirmed by enter
	Text    string         // Applied as it was typed

	SortBy   string // a field's name; empty: as the screen gives the rows
	SortDown bool

	spec      Spec[T]
	screen    Screen
	rows      widget.Source
	held      *Rows[T]          // rows, when they are records of the list itself; nil: they are something else
	bar       *widget.FilterBar // the filter while it is typed; nil: none
	past      past
	seek      *ui.Requests // values to offer
	wanted    string       // the row that the cursor goes to once it is there; empty: none
	above     []string
	saidStale bool // the last line above says that the rows are those of an earlier read
	below     []string
	beside    beside
	w, h      int
}

// New makes a list of rows; screen is what embeds it.
func New[T any](env *ui.Env, screen Screen, rows widget.Source, spec Spec[T]) *List[T] {
	l := &List[T]{Env: env, screen: screen, rows: rows, spec: spec, Loads: env.Requests(), More: env.Requests(),
		seek:  env.Requests(),
		Table: widget.NewTable(env.Theme, env.Keys, spec.Marks), beside: beside{keep: &joined{}}}
	if l.held, _ = rows.(*Rows[T]); l.held != nil && l.spec.Records == nil {
		l.spec.Records = l.held.Each
	}
	if spec.Columns != nil {
		l.Table.SetColumns(spec.Columns(0)...)
	}
	if !spec.NoGap {
		l.Table.AddSignGap()
	}
	if e, err := l.parse(spec.Start); err == nil {
		l.Filter, l.Applied, l.Text = e, e, strings.TrimSpace(spec.Start)
	}
	return l
}

// Init implements ui.Screen for one that begins with Reload.
func (l *List[T]) Init() tea.Cmd { return l.screen.Reload() }

// Update implements ui.Screen.
func (l *List[T]) Update(msg tea.Msg) (tea.Model, tea.Cmd) { return l.screen, l.Keep(l.take(msg)) }

func (l *List[T]) take(msg tea.Msg) (ui.Action, tea.Cmd) {
	var action ui.Action
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		l.SetSize(msg.Width, msg.Height)
		return nil, nil
	case tea.KeyMsg:
		action, cmd = l.key(keymap.Read(msg))
	case keymap.Press:
		action, cmd = l.key(msg)
	case offersMsg:
		l.offered(msg)
	default:
		var ok bool
		if action, cmd, ok = ui.Answered(msg); !ok {
			action, cmd = l.screen.Answer(msg)
		}
	}
	l.refresh()
	return action, cmd
}

// key takes a key: text, the screen's own keys, then those of every list.
func (l *List[T]) key(msg keymap.Press) (ui.Action, tea.Cmd) {
	l.wanted = ""
	switch {
	case l.bar != nil:
		return l.typing(msg)
	case l.Page != nil && l.Page.View.Searching():
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
			l.Close()
		}
		return ui.Handled{}, nil
	case l.Page != nil:
		l.Page.View.Update(msg)
		return nil, nil
	case back:
		return l.back()
	case k.List.Filter.Match(msg):
		return nil, l.openFilter()
	case l.spec.Sort != nil && k.List.Sort.Match(msg):
		return l.askSort()
	case k.List.Preview.Match(msg) && (l.spec.Beside != nil || l.spec.Detail != nil):
		return l.switchBeside(), nil
	case l.spec.Marks && k.List.Remark.Match(msg):
		return l.remark(), nil
	}
	l.Table.Update(msg)
	return nil, l.screen.ReadOn()
}

// back undoes one thing at a time: the cursor over the heads, the marks, the filter.
func (l *List[T]) back() (ui.Action, tea.Cmd) {
	if l.Table.LeaveColumn() {
		return ui.Handled{}, nil
	}
	if n := l.Table.Unmark(); n > 0 {
		return ui.Notify{Level: ui.Info, Text: draw.Plural(n, "mark", "marks") + " cleared; " +
			l.Env.Keys.List.Remark.Help().Key + " restores them."}, nil
	}
	switch {
	case !l.Filter.Empty():
		l.Show(filter.Expr[T]{}, "")
		return ui.Handled{}, l.screen.Filtered(false)
	}
	return nil, nil
}

// remark brings back the marks that were cleared last.
func (l *List[T]) remark() ui.Action {
	n := l.Table.Remark()
	if n == 0 {
		return ui.Notify{Level: ui.Denied, Text: "No cleared marks to restore in this list."}
	}
	return ui.Notify{Level: ui.Info, Text: draw.Plural(n, "mark", "marks") + " restored."}
}

// Read is Env.Read.
func (l *List[T]) Read(loads *ui.Requests, read func(ctx context.Context) ui.Then) tea.Cmd {
	return l.Env.Read(loads, read)
}

// Filtered implements Screen for a list whose Rows hold all records.
func (l *List[T]) Filtered(bool) tea.Cmd {
	l.held.Narrow(func(r T) bool { return l.Filter.Match(r, l.Env.Now()) })
	if l.held.IndexOf(l.Table.SelectedID()) < 0 { // it is filtered out, not gone
		l.Table.Restart()
	}
	l.Changed()
	return nil
}

// Answer implements Screen for one that takes no other message.
func (l *List[T]) Answer(tea.Msg) (ui.Action, tea.Cmd) { return nil, nil }

// Item implements Screen for one without an item.
func (l *List[T]) Item() ui.Item { return ui.Item{} }

// ReadOn implements Screen for a list that is read at once.
func (l *List[T]) ReadOn() tea.Cmd { return nil }

// Refresh implements Screen for one that does nothing then.
func (l *List[T]) Refresh() {}

// NextChange implements Screen for one that shows nothing that time alone changes.
func (l *List[T]) NextChange(time.Time) time.Time { return time.Time{} }

// Changed is called after each change of the rows.
func (l *List[T]) Changed() {
	l.Table.SetSource(l.rows)
	if l.wanted != "" && l.Table.Select(l.wanted) {
		l.wanted = ""
	}
}

// Failed notes how a read ended, and reports whether it failed.
func (l *List[T]) Failed(err error) bool {
	l.Loaded, l.Err = true, api.AsError(err)
	return err != nil
}

// refresh lays the screen out: View draws what stands here.
func (l *List[T]) refresh() {
	l.screen.Refresh()
	if l.Page != nil {
		l.Page.lay(l.w, l.h)
		return
	}
	l.beside.w = l.besideWidth()
	l.Table.SetNotice(l.screen.Empty())
	l.Table.SetWidth(l.room()) // what stands below tells of its columns
	l.below = l.screen.Below()
	l.Table.SetSize(l.room(), max(l.h-max(len(l.above), 1)-len(l.below), 1))
	l.Table.Measure() // what stands above tells what the table has no room for
	if l.bar != nil {
		l.above = l.bar.Lines(l.Env.Theme, l.w)
	} else {
		l.above = l.over()
	}
	room := max(l.h/2, 1)
	if l.rows.Len() == 0 {
		room = l.h
	}
	l.saidStale = l.bar == nil && l.stale() && len(l.above) <= room
	l.above = l.above[:min(len(l.above), room)]
	h := max(l.h-len(l.above)-len(l.below), 1)
	l.Table.SetSize(l.room(), h)
	l.layBeside(h)
}

// Typed reports whether a filter is being typed.
func (l *List[T]) Typed() bool { return l.bar != nil }

// Size is the size of the screen in cells.
func (l *List[T]) Size() (w, h int) { return l.w, l.h }

// View implements ui.Screen.
func (l *List[T]) View() string { return strings.Join(l.Lines(), "\n") }

// Lines is the view in lines; rows that look as before are the same strings.
func (l *List[T]) Lines() []string {
	if l.Page != nil {
		return l.Page.View.Lines()
	}
	side := " " + l.Env.Theme.Rule.Render(l.Env.Theme.Signs.Side) + " "
	lines := append(draw.Lay(l.above, l.w, len(l.above)), l.beside.join(l.Table.Lines(), l.room(), side)...)
	lines = append(lines, draw.Lay(l.below, l.w, len(l.below))...)
	if len(lines) != l.h {
		lines = draw.Lay(lines, l.w, l.h)
	}
	return lines
}

// SetSize lays the list out for a size in cells.
func (l *List[T]) SetSize(w, h int) {
	if l.spec.Columns != nil && w != l.w {
		l.Table.SetColumns(l.spec.Columns(w)...)
	}
	l.w, l.h = w, h
	l.refresh()
}

// NextTick implements ui.Ticker.
func (l *List[T]) NextTick(now time.Time) time.Time { return l.screen.NextChange(now) }

// Keys implements ui.Screen.
func (l *List[T]) Keys() []keymap.Key {
	switch {
	case l.bar != nil:
		return widget.FilterKeys(l.Env.Keys)
	case l.Page != nil && l.Page.View.Seeking():
		return l.Page.View.Hints()
	}
	keys := l.screen.HelpKeys()
	if l.Page != nil || !l.Loaded || l.rows.Len() > 0 {
		return keys
	}
	k := l.Env.Keys
	about := append(keymap.All(k.Item), k.List.Open, k.List.Sort, k.List.Mark)
	keys = slices.Clone(keys) // the hints name no key about rows where there are none
	for i := range keys {
		keys[i].Extra = keys[i].Extra || slices.ContainsFunc(about, func(o keymap.Key) bool { return o.Name == keys[i].Name })
	}
	return keys
}

// Editing implements ui.Screen.
func (l *List[T]) Editing() bool { return l.bar != nil || l.Page != nil && l.Page.View.Searching() }

// Unsaved implements ui.UnsavedText.
func (l *List[T]) Unsaved() string {
	if l.bar != nil && l.bar.Value() != l.Text {
		return "the filter you typed"
	}
	return ""
}

// Title implements ui.Screen.
func (l *List[T]) Title() string {
	if l.Page != nil && l.Page.Title != "" {
		return l.Page.Title
	}
	return l.spec.Title
}

// Place implements ui.Screen.
func (l *List[T]) Place() ui.Place { return l.spec.Place }

// Source implements ui.Screen.
func (l *List[T]) Source() ui.Source {
	src := ui.Source{Origin: l.spec.Origin, At: l.At, Class: l.spec.Class, Loading: l.Loads.Busy() || l.More.Busy()}
	if l.Err != nil {
		src.Problem = l.Err.Public
	}
	return src
}
