// Package operations is the list of operations. It filters, sorts and totals with
// the local index, so that browsing costs no call.
package operations

import (
	"context"
	"encoding/json"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/note"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Index is the local mirror; its methods cost no call.
type Index interface {
	Window(ctx context.Context, q index.Query) (index.Window, error)
	Count(ctx context.Context, f filter.OperationExpr) (int64, error)
	Place(ctx context.Context, f filter.OperationExpr, s index.Sort, opid string) (index.Place, error)
	// Totals adds up what the filter lets through, divided by at most two groupings.
	Totals(ctx context.Context, f filter.OperationExpr, by []index.By, limit int) (index.Group, error)
	Timeline(ctx context.Context, f filter.OperationExpr) (index.Timeline, error)
	Values(ctx context.Context, field, typed string, limit int) ([]string, error)
	Freshness(ctx context.Context) (index.Freshness, error)
	// Unreported counts the rows that the filter cannot judge.
	Unreported(ctx context.Context, f filter.OperationExpr) (index.Unreported, error)
	// Missing says which terms of a filter that matches nothing no operation matches; "" for a filter of one term.
	Missing(ctx context.Context, f filter.OperationExpr) (string, error)
	// Noted lists the notes that the filter finds operations by.
	Noted(ctx context.Context, f filter.OperationExpr) ([]note.Note, error)
	// Consistent runs fn, perhaps more than once, with an Index that answers every
	// question from one state.
	Consistent(ctx context.Context, fn func(Index) error) error
}

// Export writes a sheet to a new file and reports its progress. If the file exists, the error wraps os.ErrExist.
type Export func(ctx context.Context, s index.Sheet, path string, progress func(done, total int)) (Exported, error)

// Exported describes a written file; Fresh is the state of the index that it was written from.
type Exported struct {
	Rows  int
	Path  string
	Size  int64
	Fresh index.Freshness
	// Lacks are the rows that the filter could not judge.
	Lacks index.Unreported
}

// View is a saved view: of the config, the person's own, or one that everybody has.
type View struct {
	Name, Filter, Sort string
	About              string         // what it lists; empty: only the filter says it
	Columns            []field.Choice // nil: those of the list
	Own                bool           // the person saved it, and can change it
	Stock              bool           // everybody has it
}

// Config has the settings and functions that do not change while the console runs.
type Config struct {
	Views    []View
	Off      bool                          // no background sync: the index holds what was read here
	Progress func() (line string, ok bool) // how far the background sync is; ok false: it rests
	Columns  []field.Choice                // what is shown to somebody who has chosen nothing; nil: the usual ones
	Export   Export
	Folder   string // where Export writes a file name without a folder; "": not known
	// Preview draws an operation as its own screen does; it reads nothing. Nil: no preview.
	Preview func(op api.Operation, w int) []string

	// Recall reads the stored choices of the person in ctx, by view ("" for all views
	// without a choice of their own). Keep stores a choice; nil deletes it. Both
	// may wait. Nil: a choice ends with the screen.
	Recall func(ctx context.Context) (map[string][]string, error)
	Keep   func(ctx context.Context, view string, columns []string) error

	// Own reads the saved views of the person in ctx. KeepView replaces the view called name
	// by v; an empty name adds v, a nil v deletes the view. Both may wait.
	// Nil: only the config has views.
	Own      func(ctx context.Context) ([]View, error)
	KeepView func(ctx context.Context, name string, v *View) error
}

const (
	first     = 100 // rows read before anything is shown
	readAhead = 200 // rows read before and behind what is on screen
	keeps     = 900 // rows kept at most

	offeredValues = 12 // of a field, while a filter is typed
)

// Screen implements ui.Screen.
type Screen struct {
	*list.List[api.Operation]
	env    *ui.Env
	index  Index
	caller endpoint.Caller
	cfg    Config

	sort   index.Sort
	rows   *rows
	fresh  index.Freshness // of the index when the rows were read
	loaded string          // the filter that was read, as asked; listed is that of the present rows
	listed string

	counts *ui.Requests // how many rows there are
	judges *ui.Requests // how many the filter cannot judge
	lives  *ui.Requests // pages from the service
	totals *ui.Requests // totals and groups
	saved  *ui.Requests // counts of views
	works  *ui.Requests // an export, or reading many again
	misses *ui.Requests // which words of the filter match nothing

	chooser *chooser                  // columns being chosen; nil: none
	shown   []field.Choice            // columns of the list
	chosen  map[string][]field.Choice // by view: what the person chose
	view    string                    // the view that was taken last
	own     []View                    // that the person saved
	panel   panel
	judged  string           // the filter that lacks belongs to
	lacks   index.Unreported // rows that it cannot judge
	noted   []note.Note      // that it finds rows by
	lost    string           // which of its words match nothing
	stale   bool             // news came while a read was under way
	whole   bool             // the next read counts, too
	restart bool             // the next rows are another list: the cursor goes to its beginning
	partial bool             // nothing is shown, and the index does not hold everything yet

	usualKeys []keymap.Key // of the list, made once
	emptyKeys []keymap.Key // the same without hints at what needs a row
}

// New returns the list; start is its first filter.
func New(env *ui.Env, ix Index, caller endpoint.Caller, cfg Config, start string) *Screen {
	s := &Screen{env: env, index: ix, caller: caller, cfg: cfg, rows: newRows(env),
		sort:   index.Sort{Field: "created", Desc: true},
		counts: env.Requests(), judges: env.Requests(), lives: env.Requests(), totals: env.Requests(),
		saved: env.Requests(), works: env.Requests(), misses: env.Requests()}
	s.List = list.New(env, s, s.rows, list.Spec[api.Operation]{Place: ui.Place{Kind: ui.KindOperations}, Origin: "index",
		Class:   "billing",
		Reading: "Searching the index …", Marks: true, Signs: legend(), Beside: s.beside(cfg.Preview),
		Language: filter.Operations(), Example: "status:PENDING amount>=1000 customer:acme updated<2h", Start: start,
		Ask: func(ctx context.Context, field, typed string) []string {
			values, err := ix.Values(ctx, field, typed, offeredValues)
			if err != nil {
				return nil // no values are no suggestions
			}
			return values
		}})
	s.columns().show(s.columns().columnsOf(""))
	return s
}

// Update implements ui.Screen: open totals follow the marks.
func (s *Screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	before := s.Table.Marks()
	_, cmd := s.List.Update(msg)
	if s.panel.open() && s.Table.Marks() != before {
		cmd = tea.Batch(cmd, s.sums().refreshPanel())
	}
	return s, cmd
}

// Init implements ui.Screen.
func (s *Screen) Init() tea.Cmd {
	return tea.Batch(s.loader().lacking(), s.loader().loadWith("", s.cfg.Recall), s.saves().readViews(""))
}

// Answer implements list.Screen.
func (s *Screen) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg := msg.(type) {
	case workMsg:
		return s.jobs().onWork(msg)
	case ui.Changed:
		if msg.Kind == ui.KindOperations {
			return nil, s.loader().reloadOnce()
		}
		if op, ok := msg.Object.(api.Operation); ok && msg.Kind == ui.KindOperation {
			s.rows.replace(op, s.env.Now())
		}
	case ui.Shown:
		return nil, s.loader().reloadOnce()
	}
	return nil, nil
}

// reloadOnce reads the list again around the row under the cursor, unless a read
// is under way: then once more after it.
func (s loader) reloadOnce() tea.Cmd {
	if s.Loads.Busy() {
		s.stale = true
		return nil
	}
	return s.load(s.Table.SelectedID())
}

// Reload implements list.Screen.
func (s *Screen) Reload() tea.Cmd { return s.loader().live() }

// Filtered implements list.Screen: the rows follow each key. After the filter is confirmed, it
// reads operations that the index may lack from the service.
func (s *Screen) Filtered(live bool) tea.Cmd {
	var load tea.Cmd
	switch {
	case s.loader().asked() == s.loaded:
	case s.Filter.Typing():
		s.restart = true
		load = s.loader().load("")
	default:
		load = s.loader().load(s.Table.SelectedID())
	}
	if live {
		return load
	}
	return tea.Batch(load, s.loader().lacking())
}

// Item implements list.Screen: the marked ids, else the id under the cursor, with the JSON.
func (s *Screen) Item() ui.Item {
	id := s.Table.SelectedID()
	if id == "" || s.chooser != nil {
		return ui.Item{}
	}
	out := ui.Item{ID: id, IDWhat: "the operation id", JSONWhat: "the operation as JSON", Title: "Operation " + id}
	rec, ok := s.rows.record(id)
	switch marked := s.Table.Marked(); {
	case len(marked) > 0:
		s.markedItem(&out, marked)
	case !ok || len(rec.Op.Raw) == 0:
		out.NoJSON = "This operation has not been read from the service yet; enter opens and reads it."
	default:
		out.JSON = rec.Op.Raw
	}
	return out
}

// markedItem is the item of the marked operations: all of them as JSON, or none.
func (s *Screen) markedItem(out *ui.Item, marked []string) {
	out.ID, out.IDWhat = strings.Join(marked, "\n"), format.Plural(len(marked), "operation id", "operation ids")
	out.Title, out.JSONWhat = format.Plural(len(marked), "marked operation", "marked operations"),
		format.Plural(len(marked), "marked operation", "marked operations")+" as JSON"
	var all []json.RawMessage
	for _, id := range marked {
		if rec, ok := s.rows.record(id); ok && len(rec.Op.Raw) > 0 {
			all = append(all, rec.Op.Raw)
		}
	}
	if lacking := len(marked) - len(all); lacking > 0 {
		k := s.env.Keys
		out.NoJSON = format.Count(lacking) + " of " + format.Plural(len(marked), "marked operation", "marked operations") +
			" cannot be copied as JSON: they are too far away in the list, or not yet read from the service. " +
			k.Global.Reload.Help().Key + " reloads the marked ones, " + k.Operations.Export.Help().Key + " exports them all."
		return
	}
	var err error
	if out.JSON, err = json.Marshal(all); err != nil {
		out.NoJSON = "The marked operations cannot be written as JSON."
	}
}

// beside draws the operation under the cursor by preview; nil: nothing does.
func (s *Screen) beside(preview func(api.Operation, int) []string) func(int) []string {
	if preview == nil {
		return nil
	}
	return func(w int) []string {
		if rec, ok := s.rows.record(s.Table.SelectedID()); ok {
			return preview(rec.Op, w)
		}
		return []string{s.env.Theme.Dim.Render("This row is being read from the index …")}
	}
}

// Empty implements list.Screen.
func (s *Screen) Empty() widget.Notice {
	k := s.env.Keys
	reads := k.Global.Reload.Help().Key + " reads"
	switch {
	case s.Err != nil:
		return widget.Notice{Tone: theme.Bad, Text: s.Err.Public, Hint: reads + " from the service"}
	case s.Loaded && s.lives.Busy():
		return widget.Notice{Text: "Reading operations from the service …"}
	case !s.Loaded:
		return s.NoRows(widget.Notice{}, "")
	case s.Filter.Shown.Empty() && s.heading().unread():
		return widget.Notice{Text: "The index is empty: nothing was read yet.",
			Hint: reads + " the newest operations (one billing call)"}
	case s.Filter.Shown.Empty():
		return widget.Notice{Text: "No operations yet.", Hint: reads + " the newest from the service"}
	}
	return s.noMatch()
}

// Editing implements ui.Screen.
func (s *Screen) Editing() bool { return s.List.Editing() || s.chooser != nil }

// Title implements ui.Screen.
func (s *Screen) Title() string { return "Operations" }

// Source implements ui.Screen.
func (s *Screen) Source() ui.Source {
	src := s.List.Source()
	src.At, src.Oldest, src.Loading = s.rows.at, s.fresh.AsOf, s.lives.Busy() || s.Loads.Busy()
	if len(s.rows.recs) == 0 {
		src.At = s.fresh.AsOf
	}
	return src
}

// Commands implements ui.Commander: the saved views by their names.
func (s *Screen) Commands() []ui.Command {
	out := []ui.Command{{Title: "view everything", About: "operations without a filter, newest first",
		Run: func() (ui.Action, tea.Cmd) { return s.saves().useView(View{Sort: "-created"}) }}}
	for _, v := range s.saves().views() {
		out = append(out, ui.Command{Title: "view " + v.shown(), About: untrusted.Text(v.Filter).Line(200),
			Words: []string{v.shown()}, Run: func() (ui.Action, tea.Cmd) { return s.saves().useView(v) }})
	}
	return out
}

// Subject implements ui.SubjectOf.
func (s *Screen) Subject(kind string) string {
	id := s.Table.SelectedID()
	if kind == ui.KindOperation || kind == ui.KindDocuments {
		return id
	}
	if rec, ok := s.rows.record(id); ok && kind == ui.KindCompliance {
		return string(rec.Op.Customer.CUID)
	}
	return ""
}
