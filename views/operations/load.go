package operations

import (
	"cmp"
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/note"
	"opdeck/internal/domain/servicefilter"
	"opdeck/ui"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// part asks for a part of the list: the rows around an operation, or else n rows from one on.
type part struct {
	filter  filter.OperationExpr
	sort    index.Sort
	around  string // "": none
	from, n int
	count   bool // how many rows there are is read, too
}

// window is a part of the list that was read.
type window struct {
	Window
	base, total int
	counted     bool            // total is how many there are; else there are more
	fresh       index.Freshness // of the index as a whole, from the same state as the rows
}

// read reads from one state of the index.
func (p part) read(ctx context.Context, ix Index) (w window, err error) {
	err = ix.Consistent(ctx, func(ix Index) error {
		q := index.Query{Filter: p.filter, Sort: p.sort, Skip: p.from, Limit: p.n}
		w = window{}
		if p.around != "" {
			if at, err := ix.Place(ctx, p.filter, p.sort, p.around); err == nil && at.In {
				q.Skip, q.Limit = max(int(at.Before)-readAhead, 0), 2*readAhead
				w.total, w.counted = int(at.Total), true
			}
		}
		if w.Window, err = ix.Window(ctx, q); err != nil {
			return err
		}
		switch missed := len(w.Ops) == 0 && q.Skip > 0; { // it began behind the last row
		case w.counted:
		case p.count, missed:
			n, err := ix.Count(ctx, p.filter)
			if err != nil {
				return err
			}
			w.total, w.counted = int(n), true
		default:
			w.total, w.counted = q.Skip+len(w.Ops), !w.More
		}
		w.base = min(q.Skip, w.total)
		w.fresh, err = ix.Freshness(ctx)
		return err
	})
	return w, err
}

// loader reads rows from the index and pages from the service, and knows how much of the list those are.
type loader struct {
	list       *list.List[api.Operation]
	env        *ui.Env
	index      Index
	caller     endpoint.Caller
	background func() (line string, ok bool) // Config.Progress
	follows    func() tea.Cmd                // is called after the rows have changed

	rows    *list.Rows[api.Operation]
	columns []column        // cells of a row, in this order
	at      time.Time       // the latest confirmation by the service among what is held
	fresh   index.Freshness // of the index when the rows were read
	loaded  string          // the filter that was read, as asked; listed is that of the present rows
	listed  string

	abouts *ui.Requests // what belongs to the rows
	lives  *ui.Requests // pages from the service

	judged  string           // the filter and field of the order that lacks, sums and noted belong to
	lacks   index.Unreported // rows that it cannot judge
	sums    index.Group      // of all rows, while they are sorted by amount
	noted   []note.Note      // that it finds rows by
	lost    string           // which of its words match nothing
	more    bool             // there are more rows than are known
	stale   bool             // news came while a read was under way
	whole   bool             // the next read counts, too
	restart bool             // the next rows are another list: the cursor goes to its beginning
	partial bool             // nothing is shown, and the index does not hold everything yet
}

// load reads rows around anchor ("": from the beginning), and how many there are.
func (s *loader) load(anchor string) tea.Cmd { return s.loadWith(anchor, nil) }

// asked is the filter with the zone in which it reads days.
func (s *loader) asked() string { return s.list.Filter.Shown.String() + " " + s.env.Zone().String() }

// loadWith is load with something else that is read and taken together with the rows, so that the list is not drawn
// once without it; with may be nil.
func (s *loader) loadWith(anchor string, with func(context.Context) (take func())) tea.Cmd {
	if s.restart { // the rows of another order or filter begin at their top
		anchor = ""
	}
	s.list.More.Stop()
	s.abouts.Stop()
	s.lost = ""
	s.loaded = s.asked()
	q, ix := part{filter: s.list.Filter.Shown, sort: s.order(), around: anchor, n: first, count: s.whole}, s.index
	s.whole = false
	return s.env.Read(s.list.Loads, func(ctx context.Context) ui.Then {
		take := func() {}
		if with != nil {
			take = with(ctx)
		}
		w, err := q.read(ctx, ix)
		return func() (ui.Action, tea.Cmd) {
			take()
			return nil, s.onWindow(w, err)
		}
	})
}

// filtered reads the rows of another filter: they follow each key. After the filter is confirmed, it
// reads operations that the index may lack from the service.
func (s *loader) filtered(live bool) tea.Cmd {
	var load tea.Cmd
	switch {
	case s.asked() == s.loaded:
	case s.list.Filter.Typing():
		s.restart = true
		load = s.load("")
	default:
		load = s.load(s.list.Table.Cursor.SelectedID())
	}
	if live {
		return load
	}
	return tea.Batch(load, s.lacking())
}

// reloadOnce reads the list again around the row under the cursor, unless a read
// is under way: then once more after it.
func (s *loader) reloadOnce() tea.Cmd {
	if s.list.Loads.Busy() {
		s.stale = true
		return nil
	}
	return s.load(s.list.Table.Cursor.SelectedID())
}

// readAbout reads what belongs to the rows and may take longer than to find the first of them: how many there are if
// count is set, which words of a filter that matches nothing no operation has, and once for each filter and order how
// many rows the filter cannot judge, the notes that it finds rows by, and the currencies of amounts it is sorted by.
// If the index has changed since the rows were read, all is read again together.
func (s *loader) readAbout(count bool) tea.Cmd {
	ix, f := s.index, s.list.Filter.Shown
	amounts, none := s.order().Amounts(), s.rows.Len() == 0 && !f.Empty() || len(f.IDs()) > 1
	judging := s.loaded + " " + s.list.Sort.By
	judge := judging != s.judged
	if judge {
		s.judged, s.lacks, s.noted, s.sums = "", index.Unreported{}, nil, index.Group{}
	}
	if judge = judge && (amounts || len(f.Needs()) > 0 || len(filter.NotedTexts(f)) > 0); !count && !judge && !none {
		return nil
	}
	return s.env.Read(s.abouts, func(ctx context.Context) ui.Then {
		var n, version int64
		var lacks index.Unreported
		var noted []note.Note
		var sums index.Group
		var lost string
		err := ix.Consistent(ctx, func(ix Index) (err error) {
			if count {
				n, err = ix.Count(ctx, f)
			}
			if none && err == nil {
				lost, err = ix.Missing(ctx, f)
			}
			if judge && err == nil {
				lacks, err = ix.Unreported(ctx, f)
			}
			if judge && err == nil {
				noted, err = ix.Noted(ctx, f)
			}
			if judge && amounts && err == nil {
				sums, err = ix.Totals(ctx, f, nil, 0)
			}
			fresh, failed := ix.Freshness(ctx)
			version = fresh.Version
			return cmp.Or(err, failed)
		})
		return func() (ui.Action, tea.Cmd) {
			switch {
			case s.list.Failed(err):
				return nil, nil
			case count && version != s.fresh.Version:
				s.whole = true
				return nil, s.load(s.list.Table.Cursor.SelectedID())
			case count:
				first, _ := s.rows.Held()
				s.rows.Part(int(n), first, s.rows.Shown(), false)
				s.more = false
			}
			if s.lost = lost; judge {
				s.judged, s.lacks, s.noted, s.sums = judging, lacks, noted, sums
			}
			s.list.Changed()
			return nil, s.readOn()
		}
	})
}

func (s *loader) onWindow(w window, err error) tea.Cmd {
	if !s.list.Failed(err) {
		s.rows.Part(w.total, w.base, w.Ops, true)
		s.at, s.fresh, s.more = w.Seen, w.fresh, !w.counted
		s.partial = len(w.Ops) == 0 && !w.fresh.Complete
	}
	if s.listed != s.loaded {
		s.listed = s.loaded
		s.list.Table.Cursor.Other()
	}
	if s.restart {
		s.restart = false
		s.list.Table.Restart()
	}
	s.list.Changed()
	var next tea.Cmd
	switch {
	case s.stale:
		s.stale = false
		next = s.load(s.list.Table.Cursor.SelectedID())
	case err == nil:
		next = s.readAbout(!w.counted)
	}
	return tea.Batch(next, s.readOn(), s.follows())
}

// readOn reads the rows around those on screen when they come near the edge of what is held, or are beyond it.
func (s *loader) readOn() tea.Cmd {
	from, to := s.list.Table.Cursor.Visible()
	first, end := s.rows.Held()
	near := readAhead / 3
	switch {
	case s.list.Loads.Busy() || s.list.More.Busy():
		return nil
	case (from-near >= first || first == 0) && (to+near <= end || end == s.rows.Len()):
		return nil
	}
	ix, q := s.index, part{filter: s.list.Filter.Shown, sort: s.order(), from: max(from-readAhead, 0), n: 3 * readAhead}
	return s.env.Read(s.list.More, func(ctx context.Context) ui.Then {
		w, err := q.read(ctx, ix)
		return func() (ui.Action, tea.Cmd) {
			if s.list.Failed(err) {
				return nil, nil
			}
			if !w.counted {
				w.total = max(w.total, s.rows.Len())
			}
			s.rows.Part(w.total, w.base, w.Ops, false)
			s.at = w.Seen
			s.list.Changed()
			return nil, s.readOn()
		}
	})
}

// live reads the newest page from the service, of the customer or account that the
// filter names: one billing call, two where it is not clear what a value is.
func (s *loader) live() tea.Cmd { return s.ask(func(context.Context) bool { return true }) }

// lacking asks the service for what the filter names while the index does not hold
// everything; nil when the service has no filter for it.
func (s *loader) lacking() tea.Cmd {
	if len(servicefilter.Questions(s.list.Filter.Shown)) == 0 {
		return nil
	}
	ix := s.index
	return s.ask(func(ctx context.Context) bool {
		fresh, err := ix.Freshness(ctx)
		return err == nil && !fresh.Complete
	})
}

// ask reads from the service, if it is needed; the index takes what comes.
func (s *loader) ask(needed func(context.Context) bool) tea.Cmd {
	caller, f, now := s.caller, s.list.Filter.Shown, s.env.Now
	return s.env.Read(s.lives, func(ctx context.Context) ui.Then {
		if !needed(ctx) {
			return func() (ui.Action, tea.Cmd) { return nil, nil }
		}
		ans, err := servicefilter.Ask(ctx, caller, f, 0, 0, now())
		if err == nil && ans.Asked == "" {
			_, err = endpoint.Do(ctx, caller, endpoint.ListOperations, api.OperationQuery{})
		}
		return func() (ui.Action, tea.Cmd) {
			switch {
			case s.list.Failed(err):
				return ui.Notify{Level: ui.Error, Text: s.list.Err.Public}, nil
			case ans.Asked != "":
				return ui.Notify{Level: ui.Info, Text: ans.Summary()}, s.load(s.list.Table.Cursor.SelectedID())
			}
			return nil, s.load(s.list.Table.Cursor.SelectedID())
		}
	})
}

// replace shows a newer state of one row at once.
func (s *loader) replace(op api.Operation) {
	if was, ok := s.rows.Find(string(op.OPID)); ok && !op.UpdatedAt.Before(was.UpdatedAt.Time) {
		s.rows.Replace(op)
		s.at = s.env.Now()
	}
}

// drawnIn is what rows depend on besides their operations and time.
func (s *loader) drawnIn() any {
	type drawing struct {
		zone    *time.Location
		th      *theme.Theme
		columns *column // of a slice that is not changed
	}
	return drawing{s.env.Zone(), s.env.Theme, &s.columns[0]}
}

// row draws an operation.
func (s *loader) row(op api.Operation) widget.Row {
	o := s.env.Present()
	o.Masked = false // the index masks its rows itself
	out := list.RowOf(o, string(op.OPID), s.columns, op)
	for _, sign := range signs {
		if sign.is(&op) {
			out.Sign, out.Tone = sign.look.Sign(s.env.Theme), sign.look.Tone
			break
		}
	}
	return out
}

// sign is before a row when is holds; the first that does.
type sign struct {
	look list.Sign
	is   func(*api.Operation) bool
}

// signs are the signs of a row, with their explanations for the help.
var signs = []sign{
	{list.Warning("a text in it contains hidden or unsafe characters; enter shows which"),
		func(o *api.Operation) bool {
			return o.Customer.Name.Flags().Suspicious() || o.Destination.Name().Flags().Suspicious() ||
				o.Comment.Flags().Suspicious()
		}},
	{list.Sign{Sign: func(th *theme.Theme) string { return th.Signs.Parent }, Tone: theme.Dim,
		Says: "it has child operations"},
		func(o *api.Operation) bool { return o.IsParent }},
	{list.Sign{Sign: func(th *theme.Theme) string { return th.Signs.Hidden }, Tone: theme.Dim,
		Says: "hidden from the customer"},
		func(o *api.Operation) bool { return !o.IsVisible }},
}

// legend is what the help says of the signs in a row.
func legend() []list.Sign {
	var out []list.Sign
	for _, s := range signs {
		out = append(out, s.look)
	}
	out = append(out, list.Locked("after the number of documents: one of them is locked"),
		list.Sign{Sign: func(th *theme.Theme) string { return th.Signs.Locked + "?" }, Tone: theme.Warn,
			Says: "after the number of documents: the service does not say whether one of them is locked"})
	return append(out, list.StatusSigns()...)
}

// unread reports whether nothing at all was read into the index yet.
func (s *loader) unread() bool {
	return s.list.Loaded && !s.fresh.Complete && s.rows.Len() == 0 && s.fresh.Rows == 0
}

// readSoFar says how much of the list the index holds; "" if it holds all of it. Sums and exports lack the rest.
func (s *loader) readSoFar() string {
	if !s.list.Loaded || s.fresh.Complete || s.fresh.Rows == 0 {
		return ""
	}
	out := s.fresh.Says(s.env.Now(), s.env.Zone())
	if p := s.progress(); p != "" {
		out += "; " + strings.TrimSuffix(p, ".")
	}
	return out
}

// progress is what holds the background sync up, or how long it still takes; "" for neither.
func (s *loader) progress() string {
	if s.background == nil {
		return ""
	}
	p, _ := s.background()
	return p
}

// noMatch says what nothing matches, which words of it, and what that is worth while the index does not hold
// everything.
func (s *Screen) noMatch() widget.Notice {
	k, asked := s.env.Keys, "“"+untrusted.Text(s.Filter.Shown.String()).Line(200)+"”"
	out := widget.Notice{Text: "No operation matches " + asked + "."}
	switch {
	case s.loader.partial && s.cfg.Off:
		out.Text = "No operation that was read matches " + asked + "."
	case s.loader.partial:
		out.Text = "No match yet for " + asked + "; more operations are being read."
	}
	if s.loader.lost != "" {
		out.Text += " " + s.loader.lost
	}
	if !s.Filter.Typing() { // its keys are text now
		out.Hint = k.Global.Back.Help().Key + " clears it, " + k.List.Filter.Help().Key + " changes it"
	}
	return out
}
