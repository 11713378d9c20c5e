// Package operations is the list of operations: filtered, sorted and totalled on
// the local index, so that browsing costs no call.
package operations

import (
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/columns"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/mask"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Index answers from the local mirror; nothing of it costs a call.
type Index interface {
	Window(ctx context.Context, q index.Query) (index.Window, error)
	Count(ctx context.Context, f filter.OperationExpr) (int64, error)
	Place(ctx context.Context, f filter.OperationExpr, s index.Sort, opid string) (index.Place, error)
	Totals(ctx context.Context, f filter.OperationExpr) ([]index.Sum, error)
	Groups(ctx context.Context, f filter.OperationExpr, by index.By, limit int) ([]index.Group, error)
	Days(ctx context.Context, f filter.OperationExpr, n int) ([]index.Day, error)
	Values(ctx context.Context, field, typed string, limit int) ([]string, error)
	Freshness(ctx context.Context) (index.Freshness, error)
	// Consistent runs fn, perhaps more than once, with an Index that answers every
	// question from one state.
	Consistent(ctx context.Context, fn func(Index) error) error
}

// Client reads from the service what the index does not hold yet.
type Client interface {
	Operations(ctx context.Context, q api.OperationQuery) (api.Page[api.Operation], error)
	Operation(ctx context.Context, opid string) (api.Operation, error)
	// Export writes what the filter shows to a file, telling how far it is; asOf
	// words how old it is.
	Export(ctx context.Context, f filter.OperationExpr, s index.Sort, format, path string, progress func(done, total int64)) (n int64, asOf string, err error)
}

// View is a saved view of the config.
type View struct {
	Name, Filter, Sort string
	Columns            []columns.Shown // nil: those of the list
}

// Config is what does not change while the console runs.
type Config struct {
	Views    []View
	Off      bool                          // no background sync: the index holds what was read here
	Now      func() time.Time              // for relative times in filters
	Progress func() (line string, ok bool) // how far the background sync is; ok false: it rests
	Columns  []columns.Shown               // what is shown to somebody who has chosen nothing; nil: the usual ones

	// Recall reads what the person in ctx chose before, by view ("" for all that
	// have no choice of their own); Keep remembers a choice, nil forgets it. Both
	// may wait. Nil: a choice ends with the screen.
	Recall func(ctx context.Context) (map[string][]string, error)
	Keep   func(ctx context.Context, view string, columns []string) error
}

const (
	first  = 100 // rows read before anything is shown
	ahead  = 200 // rows read before and behind what is on screen
	keeps  = 900 // rows kept at most
	panelH = 9   // lines of the totals
)

// Screen implements ui.Screen.
type Screen struct {
	env    *ui.Env
	index  Index
	client Client
	cfg    Config

	query filter.OperationExpr
	text  string // of the query as typed
	sort  index.Sort
	rows  *rows
	fresh index.Freshness // of the index when the rows were read
	err   *api.Error

	loads   *ui.Loads // rows and count
	more    *ui.Loads // rows further on
	tallies *ui.Loads // how many there are
	lives   *ui.Loads // pages from the service
	counts  *ui.Loads // totals and groups
	out     *ui.Loads // counts of views
	works   *ui.Loads // an export, or reading many again

	bar     *widget.FilterBar          // the filter being typed; nil: none
	seek    *ui.Loads                  // values for it
	chooser *chooser                   // columns being chosen; nil: none
	shown   []columns.Shown            // columns of the list
	chosen  map[string][]columns.Shown // by view: what the person chose
	view    string                     // the view of the config that was taken last
	panel   panel
	doing   string
	stale   bool // news came while a read was under way
	whole   bool // the next read counts, too
	typed   bool // the filter being typed has changed: the list begins anew
	inited  bool
	partial bool // nothing is shown, and the index does not hold everything yet

	table *widget.Table
	keys  []keymap.Key
	w, h  int
}

// New makes the list; start is a filter to begin with.
func New(env *ui.Env, ix Index, client Client, cfg Config, start string) *Screen {
	s := &Screen{env: env, index: ix, client: client, cfg: cfg, rows: newRows(env), sort: index.Sort{Field: "created", Desc: true},
		loads: env.Loads(), more: env.Loads(), tallies: env.Loads(), lives: env.Loads(), counts: env.Loads(), out: env.Loads(), works: env.Loads(),
		seek: env.Loads(), table: widget.NewTable(env.Theme, env.Keys, true)}
	s.table.Apart()
	s.show(s.columnsOf(""))
	if q, err := filter.Parse(start); err == nil {
		s.query, s.text = q, start
	}
	s.settle()
	return s
}

// Init implements ui.Screen.
func (s *Screen) Init() tea.Cmd {
	load, recall, ctx := s.load(""), s.cfg.Recall, s.env.Ctx
	lacking := s.lacking()
	if recall == nil {
		return tea.Batch(load, lacking)
	}
	return tea.Batch(lacking, func() tea.Msg { // together: the list is not drawn in columns that change at once
		all, err := recall(ctx)
		msg := load()
		if m, ok := msg.(windowMsg); ok && err == nil {
			m.chosen = all
			return m
		}
		return msg
	})
}

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg := msg.(type) {
	case windowMsg:
		return nil, s.took(msg)
	case countMsg:
		return nil, s.counted(msg)
	case moreMsg:
		return nil, s.tookMore(msg)
	case liveMsg:
		return s.tookLive(msg)
	case panelMsg:
		if s.counts.Current(msg.Ticket) {
			s.panel.take(msg)
		}
	case viewsMsg:
		if s.out.Current(msg.Ticket) {
			return s.chooseView(msg), nil
		}
	case workMsg:
		return s.worked(msg)
	case keptMsg:
		return s.kept(msg), nil
	case offersMsg:
		s.offered(msg)
	case ui.Changed:
		if msg.Kind == ui.KindOperations {
			return nil, s.changed()
		}
		if msg.Kind == ui.KindOperation {
			if op, ok := msg.Object.(api.Operation); ok {
				s.rows.replace(op, s.env.Now())
			}
		}
	case ui.Shown:
		return nil, s.changed()
	case ui.DisplayChanged:
		s.settle()
	case keymap.Press:
		return s.key(msg)
	}
	return nil, nil
}

// changed reads the list again around the row under the cursor, unless a read is
// under way: then once more after it.
func (s *Screen) changed() tea.Cmd {
	if s.loads.Busy() {
		s.stale = true
		return nil
	}
	return s.load(s.table.SelectedID())
}

func (s *Screen) key(msg keymap.Press) (ui.Action, tea.Cmd) {
	switch {
	case s.bar != nil:
		return s.typing(msg)
	case s.chooser != nil:
		return s.choosing(msg)
	}
	k := s.env.Keys
	id := s.table.SelectedID()
	switch {
	case k.Global.Reload.Match(msg) && len(s.table.Marked()) > 0:
		if busy, ok := s.busyNow(); ok {
			return busy, nil
		}
		return s.askReread(), nil
	case k.Global.Reload.Match(msg), k.Operations.Live.Match(msg):
		return nil, s.live()
	case k.List.Filter.Match(msg):
		return nil, s.openBar()
	case k.List.Sort.Match(msg):
		return s.chooseSort(), nil
	case k.List.Views.Match(msg):
		return nil, s.countViews()
	case k.Operations.Totals.Match(msg):
		return nil, s.nextPanel()
	case k.Operations.Columns.Match(msg):
		s.chooser = newChooser(s.shown)
		return nil, nil
	case k.Operations.Export.Match(msg):
		if busy, ok := s.busyNow(); ok {
			return busy, nil
		}
		return s.askExport(), nil
	case k.Global.Back.Match(msg):
		return s.back()
	case k.List.MarkAll.Match(msg) && s.rows.total > len(s.rows.recs):
		return ui.Notify{Kind: ui.Refused, Text: "Filter first: " + draw.Count(s.rows.total) + " rows are too many to mark one by one; e exports them all."}, nil
	case id != "" && k.List.Open.Match(msg):
		return ui.Open{Place: ui.Place{Kind: ui.KindOperation, ID: id}}, nil
	case id != "" && k.Operations.Documents.Match(msg):
		return ui.Open{Place: ui.Place{Kind: ui.KindDocuments, ID: id}}, nil
	case id != "" && k.Item.CopyID.Match(msg):
		return s.copyIDs(id), nil
	case id != "" && (k.Item.CopyJSON.Match(msg) || k.Item.Raw.Match(msg)):
		return s.json(id, k.Item.Raw.Match(msg)), nil
	}
	s.table.Update(msg)
	return nil, s.reach()
}

// back undoes one thing at a time: long work, marks, totals, the filter.
func (s *Screen) back() (ui.Action, tea.Cmd) {
	switch {
	case s.works.Busy():
		s.stopWork()
		return ui.Notify{Kind: ui.Told, Text: "Stopping …"}, nil
	case s.table.Unmark():
		return ui.Handled{}, nil
	case s.panel.open():
		s.panel = panel{}
		return ui.Handled{}, nil
	case !s.query.Empty():
		s.query, s.text = filter.OperationExpr{}, ""
		return ui.Handled{}, s.load(s.table.SelectedID())
	}
	return nil, nil
}

func (s *Screen) copyIDs(id string) ui.Action {
	if marked := s.table.Marked(); len(marked) > 0 {
		return ui.Copy{Text: strings.Join(marked, "\n"), What: draw.Plural(len(marked), "operation id", "operation ids")}
	}
	return ui.Copy{Text: id, What: "the operation id"}
}

func (s *Screen) json(id string, view bool) ui.Action {
	rec, ok := s.rows.record(id)
	if !ok || len(rec.Op.Raw) == 0 {
		return ui.Notify{Kind: ui.Refused, Text: "This operation was not read from the service yet; enter opens and reads it."}
	}
	if view {
		return ui.Raw{Title: "Operation " + id, JSON: mask.Shown(rec.Op.Raw, s.env.Masked())}
	}
	return ui.Copy{Text: string(mask.Shown(rec.Op.Raw, s.env.Masked())), What: "the operation as JSON"}
}

// settle gives the table what it needs from the state.
func (s *Screen) settle() {
	s.table.SetSource(s.rows)
	s.table.SetSort(s.sortColumn(), s.sort.Desc)
	switch {
	case s.err != nil && s.rows.total == 0:
		s.table.SetNotice(widget.Notice{Tone: theme.Bad, Text: s.err.Public, Hint: s.env.Keys.Global.Reload.Help().Key + " reads from the service"})
	case !s.inited:
		s.table.SetNotice(widget.Notice{Text: "Looking into the index …"})
	case s.lives.Busy():
		s.table.SetNotice(widget.Notice{Text: "Reading operations from the service …"})
	case !s.query.Empty() && s.bar != nil: // its keys are text now
		s.table.SetNotice(widget.Notice{Text: s.nothing()})
	case !s.query.Empty():
		s.table.SetNotice(widget.Notice{Text: s.nothing(), Hint: s.env.Keys.Global.Back.Help().Key + " clears it, " + s.env.Keys.List.Filter.Help().Key + " changes it"})
	default:
		s.table.SetNotice(widget.Notice{Text: "No operation is known yet.", Hint: s.env.Keys.Global.Reload.Help().Key + " reads the newest from the service"})
	}
}

// nothing says that nothing matches, and what that is worth while the index does
// not hold everything.
func (s *Screen) nothing() string {
	switch {
	case s.partial && s.cfg.Off:
		return "None of the operations that were read here matches the filter."
	case s.partial:
		return "No operation matches the filter so far; others are still being read."
	}
	return "No operation matches the filter."
}

// SetSize implements ui.Screen.
func (s *Screen) SetSize(w, h int) { s.w, s.h = w, h }

// Help implements ui.Screen.
func (s *Screen) Keys() []keymap.Key {
	k := s.env.Keys
	if s.bar != nil {
		return widget.FilterKeys(k)
	}
	if s.chooser != nil {
		c := k.Columns
		return append([]keymap.Key{c.Show, c.Keep, c.Cancel, c.Narrower, c.Wider, c.Earlier, c.Later, c.Reset}, keymap.All(k.Nav)...)
	}
	if s.keys == nil { // asked for with each key and each frame
		o := k.Operations
		l := k.List
		s.keys = []keymap.Key{l.Open, l.Filter, l.Sort, l.Views, o.Documents, o.Totals, o.Columns, l.Mark, k.Item.CopyID, k.Global.Reload, l.MarkAll, o.Live, o.Export, k.Item.CopyJSON, k.Item.Raw}
		s.keys = append(s.keys, keymap.All(k.Nav)...)
	}
	if now := s.now(); len(now) > 0 {
		return append(now, s.keys...)
	}
	return s.keys
}

// now are the keys that matter more than the others at the moment: with rows
// marked what is done to all of them, with the totals open how they go on.
func (s *Screen) now() []keymap.Key {
	k := s.env.Keys
	var out []keymap.Key
	if s.works.Busy() {
		stop := k.Global.Back
		stop.SetHelp(stop.Help().Key, "stop")
		stop.Extra = false
		return append(out, stop)
	}
	if n := len(s.table.Marked()); n > 0 {
		ids, none := k.Item.CopyID, k.Global.Back
		ids.SetHelp(ids.Help().Key, "copy "+draw.Plural(n, "id", "ids"))
		none.SetHelp(none.Help().Key, "unmark")
		none.Extra = false
		return append(out, ids, none)
	}
	if s.panel.open() {
		next, shut := k.Operations.Totals, k.Global.Back
		next.SetHelp(next.Help().Key, s.panel.next())
		shut.SetHelp(shut.Help().Key, "close")
		shut.Extra = false
		out = append(out, next, shut)
	}
	return out
}

// Editing implements ui.Screen.
func (s *Screen) Editing() bool { return s.bar != nil || s.chooser != nil }

// Unsaved implements ui.Keeper.
func (s *Screen) Unsaved() string {
	if s.bar != nil && s.bar.Value() != s.text {
		return "The filter you typed."
	}
	return ""
}

// Title implements ui.Screen.
func (s *Screen) Title() string { return "Operations" }

// Place implements ui.Screen.
func (s *Screen) Place() ui.Place { return ui.Place{Kind: ui.KindOperations} }

// Source implements ui.Screen.
func (s *Screen) Source() ui.Source {
	src := ui.Source{Origin: "index", At: s.rows.newest(), Oldest: s.fresh.AsOf, Class: "billing", Loading: s.lives.Busy() || s.loads.Busy()}
	if len(s.rows.recs) == 0 {
		src.At = s.fresh.AsOf
	}
	if s.err != nil {
		src.Problem = s.err.Public
	}
	return src
}

// Commands implements ui.Commander: the notice at the start names it.
func (s *Screen) Commands() []ui.Command {
	return []ui.Command{{Title: "all customers", Do: ui.Open{Place: ui.Place{Kind: ui.KindCompliance}}}}
}

// Subject implements ui.Subjecter.
func (s *Screen) Subject(kind string) string {
	id := s.table.SelectedID()
	if kind == ui.KindOperation || kind == ui.KindDocuments {
		return id
	}
	if rec, ok := s.rows.record(id); ok && kind == ui.KindCompliance {
		return string(rec.Op.Customer.CUID)
	}
	return ""
}
