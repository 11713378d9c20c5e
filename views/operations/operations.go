// Package operations is the list of operations. It filters, sorts and totals with
// the local index, so that browsing costs no call.
package operations

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"time"

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
	Window(ctx context.Context, q index.Query) (Window, error)
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

// Window is a part of the list, as the index has it.
type Window struct {
	Ops  []api.Operation // other consoles may hold the slice too: nobody changes it
	More bool            // rows follow it
	Seen time.Time       // the latest confirmation by the service among Ops
}

// WindowOf is what the list shows of a window of the index.
func WindowOf(w index.Window) Window {
	out := Window{Ops: make([]api.Operation, len(w.Rows)), More: w.More}
	for i, r := range w.Rows {
		out.Ops[i] = r.Op
		if r.Seen.After(out.Seen) {
			out.Seen = r.Seen
		}
	}
	return out
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

	offeredValues = 12 // of a field, while a filter is typed
)

// Screen implements ui.Screen.
type Screen struct {
	*list.List[api.Operation]
	shared
	columns *columnChoice
	views   *savedViews
	jobs    *jobs
	totals  *totalsPanel
}

// shared is what all parts of the screen use.
type shared struct {
	list   *list.List[api.Operation]
	env    *ui.Env
	cfg    *Config
	loader *loader
}

// New returns the list; start is its first filter.
func New(env *ui.Env, ix Index, caller endpoint.Caller, cfg Config, start string) *Screen {
	s := &Screen{shared: shared{env: env, cfg: &cfg}}
	s.loader = &loader{env: env, index: ix, caller: caller, background: cfg.Progress,
		abouts: env.Requests(), lives: env.Requests()}
	s.loader.rows = list.NewRows(func(op api.Operation) string { return string(op.OPID) }, s.loader.row)
	s.loader.rows.Keep(s.loader.drawnIn, env.Now)
	s.List = list.New(env, s, s.loader.rows, list.Spec[api.Operation]{Place: ui.Place{Kind: ui.KindOperations},
		Origin: "index", Class: "billing",
		Reading: "Searching the index …", Marks: true, Signs: legend(), Preview: cfg.Preview,
		Orders: s.orders(), Language: filter.Operations(),
		Example: "status:PENDING amount>=1000 customer:acme updated<2h", Start: start,
		Ask: func(ctx context.Context, field, typed string) []string {
			values, err := ix.Values(ctx, field, typed, offeredValues)
			if err != nil {
				return nil // no values are no suggestions
			}
			return values
		}})
	s.list, s.loader.list = s.List, s.List
	s.Sort.Set(list.Order{By: "created", Down: true})
	s.columns = &columnChoice{shared: s.shared}
	s.views = &savedViews{shared: s.shared, columns: s.columns, saved: env.Requests()}
	s.columns.views = s.views
	s.jobs = &jobs{shared: s.shared}
	s.totals = &totalsPanel{shared: s.shared, jobs: s.jobs, sums: env.Requests()}
	s.loader.follows = s.totals.refreshPanel
	s.columns.show(s.columns.columnsOf(""))
	return s
}

// Update implements ui.Screen: open totals follow the marks.
func (s *Screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	before := s.Table.Marks()
	_, cmd := s.List.Update(msg)
	if s.totals.panel.open() && s.Table.Marks() != before {
		cmd = tea.Batch(cmd, s.totals.refreshPanel())
	}
	return s, cmd
}

// Init implements ui.Screen.
func (s *Screen) Init() tea.Cmd {
	return tea.Batch(s.loader.lacking(), s.loader.loadWith("", s.columns.recall), s.views.readViews(""))
}

// Answer implements list.Screen.
func (s *Screen) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg := msg.(type) {
	case ui.Changed:
		if msg.Kind == ui.KindOperations {
			return nil, s.loader.reloadOnce()
		}
		if op, ok := msg.Object.(api.Operation); ok && msg.Kind == ui.KindOperation {
			s.loader.replace(op)
		}
	case ui.Shown:
		return nil, s.loader.reloadOnce()
	}
	return nil, nil
}

// ReadOn implements list.Screen.
func (s *Screen) ReadOn() tea.Cmd { return s.loader.readOn() }

// Reload implements list.Screen.
func (s *Screen) Reload() tea.Cmd { return s.loader.live() }

// Filtered implements list.Screen.
func (s *Screen) Filtered(live bool) tea.Cmd { return s.loader.filtered(live) }

// Item implements list.Screen: the marked ids, else the id under the cursor, with the JSON.
func (s *Screen) Item() ui.Item {
	id := s.Table.Cursor.SelectedID()
	if id == "" || s.columns.chooser != nil {
		return ui.Item{}
	}
	out := ui.Item{ID: id, IDWhat: "the operation id", JSONWhat: "the operation as JSON", Title: "Operation " + id}
	op, ok := s.loader.rows.Find(id)
	switch marked := s.Table.Marked(); {
	case len(marked) > 0:
		s.markedItem(&out, marked)
	case !ok || len(op.Raw) == 0:
		out.NoJSON = "This operation has not been read from the service yet; enter opens and reads it."
	default:
		out.JSON = op.Raw
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
		if op, ok := s.loader.rows.Find(id); ok && len(op.Raw) > 0 {
			all = append(all, op.Raw)
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

// Empty implements list.Screen.
func (s *Screen) Empty() widget.Notice {
	k := s.env.Keys
	reads := k.Global.Reload.Help().Key + " reads"
	switch {
	case s.Err != nil:
		return widget.Notice{Tone: theme.Bad, Text: s.Err.Public, Hint: reads + " from the service"}
	case s.Loaded && s.loader.lives.Busy():
		return widget.Notice{Text: "Reading operations from the service …"}
	case !s.Loaded:
		return s.NoRows(widget.Notice{}, "")
	case s.Filter.Shown.Empty() && s.loader.unread():
		return widget.Notice{Text: "The index is empty: nothing was read yet.",
			Hint: reads + " the newest operations (one billing call)"}
	case s.Filter.Shown.Empty():
		return widget.Notice{Text: "No operations yet.", Hint: reads + " the newest from the service"}
	}
	return s.noMatch()
}

// Editing implements ui.Screen.
func (s *Screen) Editing() bool { return s.List.Editing() || s.columns.chooser != nil }

// Title implements ui.Screen.
func (s *Screen) Title() string { return "Operations" }

// Source implements ui.Screen.
func (s *Screen) Source() ui.Source {
	src := s.List.Source()
	src.At, src.Oldest, src.Loading = s.loader.at, s.loader.fresh.AsOf, s.loader.lives.Busy() || s.Loads.Busy()
	if s.loader.rows.Len() == 0 {
		src.At = s.loader.fresh.AsOf
	}
	return src
}

// Commands implements ui.Commander: the saved views by their names.
func (s *Screen) Commands() []ui.Command {
	out := []ui.Command{{Title: "view everything", About: "operations without a filter, newest first",
		Run: func() (ui.Action, tea.Cmd) { return s.views.useView(View{Sort: "-created"}) }}}
	for _, v := range s.views.all() {
		out = append(out, ui.Command{Title: "view " + v.shown(), About: untrusted.Text(v.Filter).Line(200),
			Words: []string{v.shown()}, Run: func() (ui.Action, tea.Cmd) { return s.views.useView(v) }})
	}
	return out
}

// Subject implements ui.SubjectOf.
func (s *Screen) Subject(kind string) string {
	id := s.Table.Cursor.SelectedID()
	if kind == ui.KindOperation || kind == ui.KindDocuments {
		return id
	}
	if op, ok := s.loader.rows.Find(id); ok && kind == ui.KindCompliance {
		return string(op.Customer.CUID)
	}
	return ""
}

// OwnKey implements list.Screen.
func (s *Screen) OwnKey(msg keymap.Press) (ui.Action, tea.Cmd, bool) {
	if s.columns.chooser != nil {
		action, cmd := s.columns.choosing(msg)
		return action, cmd, true
	}
	if s.totals.panel.open() && s.jobs.now == nil {
		if action, cmd, ok := s.totals.panelKey(msg); ok {
			return action, cmd, true
		}
	}
	k := s.env.Keys
	switch {
	case k.Global.Reload.Match(msg) && s.Table.Marks() > 0:
		return s.jobs.unlessBusy(s.jobs.askReread), nil, true
	case k.Operations.Live.Match(msg):
		return nil, s.loader.live(), true
	case k.List.Views.Match(msg):
		return nil, s.views.countViews(), true
	case k.Operations.Totals.Match(msg):
		return nil, s.totals.nextPanel(), true
	case k.Operations.Columns.Match(msg):
		s.columns.chooser = newChooser(s.columns.shown)
		return nil, nil, true
	case k.Operations.Accounts.Match(msg):
		return ui.Open{Place: ui.Place{Kind: "accounts"}}, nil, true
	case k.Operations.Counterparties.Match(msg):
		return ui.Open{Place: ui.Place{Kind: "counterparties"}}, nil, true
	case k.Operations.Export.Match(msg):
		return s.jobs.unlessBusy(s.jobs.askExport), nil, true
	case k.Operations.Customers.Match(msg):
		return ui.Open{Place: ui.Place{Kind: ui.KindCompliance}}, nil, true
	case k.Global.Quit.Match(msg):
		return nil, nil, true
	case k.Global.Back.Match(msg) && s.jobs.now != nil:
		s.jobs.stop()
		return ui.Notify{Level: ui.Info, Text: "Stopping …"}, nil, true
	case k.Global.Back.Match(msg) && s.totals.panel.open() && s.Table.Marks() == 0:
		s.totals.closePanel()
		return ui.Handled{}, nil, true
	case k.List.MarkAll.Match(msg) && s.loader.rows.Len() > len(s.loader.rows.Shown()):
		return ui.Notify{Level: ui.Denied, Text: "Filter first: " + format.Count(s.loader.rows.Len()) +
			" rows are too many to mark. e exports them all."}, nil, true
	}
	if id := s.Table.Cursor.SelectedID(); id != "" {
		return s.itemKey(msg, id)
	}
	return nil, nil, false
}

// itemKey is a key about the operation under the cursor, or about those marked.
func (s *Screen) itemKey(msg keymap.Press, id string) (ui.Action, tea.Cmd, bool) {
	k := s.env.Keys
	switch {
	case k.List.Open.Match(msg):
		return ui.Open{Place: ui.Place{Kind: ui.KindOperation, ID: id}}, nil, true
	case k.Operations.Documents.Match(msg):
		return ui.Open{Place: ui.Place{Kind: ui.KindDocuments, ID: id}}, nil, true
	}
	a, ok := ui.TakeRelated(k.Related, msg, s)
	return a, nil, ok
}

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Key {
	if s.columns.chooser == nil {
		return s.List.Keys()
	}
	c := s.env.Keys.Columns
	return append([]keymap.Key{c.Show, c.Keep, c.Cancel, c.Narrower, c.Wider, c.Earlier, c.Later, c.Reset},
		keymap.All(s.env.Keys.Nav)...)
}

// HelpKeys implements list.Screen.
func (s *Screen) HelpKeys() []keymap.Key {
	k := s.env.Keys
	l, o, item := k.List, k.Operations, k.Item
	usual := []keymap.Key{l.Open, l.Filter, o.Documents, o.Totals, l.Sort, l.Views, o.Columns, k.Related.History,
		k.Related.Customer, l.Mark, item.CopyID, k.Global.Reload, l.MarkAll, l.Range, l.Remark, o.Live, o.Export, o.Customers,
		o.Accounts, o.Counterparties}
	if now := s.keysNow(); len(now) > 0 {
		return append(now, usual...)
	}
	if s.Loaded && s.loader.rows.Len() == 0 { // no hints at what needs a row
		needsRow := []string{l.Open.Name, l.Sort.Name, o.Documents.Name, o.Totals.Name, k.Related.History.Name,
			k.Related.Customer.Name, l.Mark.Name, item.CopyID.Name}
		for i, key := range usual {
			usual[i].Extra = key.Extra || slices.Contains(needsRow, key.Name)
		}
	}
	return usual
}

// keysNow are the keys that matter more than the others at the moment: with rows
// marked what is done to all of them, with the totals open how they go on.
func (s *Screen) keysNow() []keymap.Key {
	k := s.env.Keys
	back := func(short string) keymap.Key {
		out := k.Global.Back
		out.SetHelp(out.Help().Key, short)
		out.Extra = false
		return out
	}
	n := s.Table.Marks()
	switch {
	case s.jobs.now != nil:
		return []keymap.Key{back("stop")}
	case n > 0:
		about := func(k keymap.Key, short string) keymap.Key {
			k.SetHelp(k.Help().Key, short)
			k.Extra = false
			return k
		}
		return []keymap.Key{about(k.Operations.Export, "export "+format.Count(n)+" marked"),
			about(k.Operations.Totals, "total"), about(k.Item.CopyID, "copy "+format.Plural(n, "id", "ids")),
			about(k.Global.Reload, "reload marked"), back("unmark")}
	case s.totals.panel.open():
		return s.totals.panelKeys(back)
	}
	return nil
}

// Content implements ui.Contenter.
func (s *Screen) Content() ui.Content {
	c := s.List.Content()
	c.Sections = s.totals.panelSections()
	if p := &s.totals.panel; p.focus && p.ready && p.err == nil {
		c.Table, c.Sections = p.table, nil
	}
	return c
}

const mostNamed = 20 // marked operations that a command line names

// exportOverSSH gives the command in the place of the form: over SSH a file of the host
// would be the server's.
func (s *jobs) exportOverSSH(of sheet) ui.Action {
	if of.marked > mostNamed {
		return ui.Notify{Level: ui.Warning, Text: "Over SSH an export is a command; " + format.Count(of.marked) +
			" marked operations are too many for one command. Mark at most " +
			format.Count(mostNamed) + ", or clear the marks and filter the list."}
	}
	line := []string{"operation", "export", "-"}
	if of.Totals {
		line = []string{"operation", "totals", "--by", strings.Join(words(of.By), ",")}
	}
	if f := of.Filter.String(); untrusted.Text(f).Flags().Suspicious() {
		line = append(line, "--filter", "FILTER")
	} else if f != "" {
		line = append(line, "--filter", f)
	}
	if !of.Totals || of.Sort.Field != "" {
		line = append(line, "--sort", of.Sort.String())
	}
	return s.env.OverSSH("Export "+of.what, s.env.RemoteCommand(append(line, "-o", string(index.CSV))...)+" > FILE",
		"-o jsonl writes JSON lines instead.")
}

// ended is the result of long work: its notice, and whether rows may have changed.
type ended struct {
	notice ui.Action
	reload bool
}

// job is long work while it runs.
type job struct {
	stop  context.CancelFunc
	doing atomic.Value // string: how far it is
}

// jobs are exports, and reading many again.
type jobs struct {
	shared
	now *job // nil: none runs
}

// work runs long work, one at a time: do reports its progress with report, and ends early when ctx ends. What was
// stopped still says how it ended.
func (s *jobs) work(first string, do func(ctx context.Context, report func(string)) ended) tea.Cmd {
	ctx, stop := context.WithCancel(s.env.Ctx)
	this := &job{stop: stop}
	this.doing.Store(first)
	s.now, s.list.Doing = this, first
	return s.env.Read(nil, func(context.Context) ui.Then {
		e := do(ctx, func(doing string) { this.doing.Store(doing) })
		return func() (ui.Action, tea.Cmd) {
			if s.now == this {
				s.stop()
			}
			if e.reload {
				return e.notice, s.loader.load(s.list.Table.Cursor.SelectedID())
			}
			return e.notice, nil
		}
	})
}

// stop ends long work, perhaps before its time.
func (s *jobs) stop() {
	s.now.stop()
	s.now, s.list.Doing = nil, ""
}

// Refresh implements list.Screen: it says how far long work is.
func (s *Screen) Refresh() {
	if s.jobs.now != nil {
		s.Doing = s.jobs.now.doing.Load().(string)
	}
}

// NextChange implements list.Screen.
func (s *Screen) NextChange(now time.Time) time.Time {
	switch late := s.loader.fresh.LateFrom(); {
	case s.jobs.now != nil:
		return now.Add(time.Second)
	case !s.loader.fresh.Complete: // how long reading all of it still takes
		return now.Add(10 * time.Second)
	case now.Before(late):
		return late
	}
	return time.Time{}
}

// unlessBusy begins long work, unless there is some.
func (s *jobs) unlessBusy(begin func() ui.Action) ui.Action {
	if s.now == nil {
		return begin()
	}
	return ui.Notify{Level: ui.Denied, Text: "Wait: " + s.list.Doing + ". " + s.env.Keys.Global.Back.Help().Key +
		" stops it."}
}
