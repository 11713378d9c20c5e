package operations

import (
	"cmp"
	"context"
	"maps"
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

// window is the list read again.
type window struct {
	index.Window
	total   int
	base    int
	counted bool            // total is how many there are; else it is still to be counted
	fresh   index.Freshness // of the index as a whole, from the same state as the rows
}

// loader reads rows from the index and pages from the service, and knows how much of the list those are.
type loader struct {
	list       *list.List[api.Operation]
	env        *ui.Env
	index      Index
	caller     endpoint.Caller
	background func() (line string, ok bool) // Config.Progress
	follows    func() tea.Cmd                // is called after the rows have changed

	sort   index.Sort
	rows   *rows
	fresh  index.Freshness // of the index when the rows were read
	loaded string          // the filter that was read, as asked; listed is that of the present rows
	listed string

	counts *ui.Requests // how many rows there are
	judges *ui.Requests // how many the filter cannot judge
	lives  *ui.Requests // pages from the service
	misses *ui.Requests // which words of the filter match nothing

	judged  string           // the filter and field of the order that lacks and sums belong to
	lacks   index.Unreported // rows that it cannot judge
	sums    index.Group      // of all rows, while they are sorted by amount
	noted   []note.Note      // that it finds rows by
	lost    string           // which of its words match nothing
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
	s.counts.Stop()
	s.misses.Stop()
	s.lost = ""
	s.loaded = s.asked()
	q := index.Query{Filter: s.list.Filter.Shown, Sort: s.sort, Anchor: anchor, Before: readAhead, After: readAhead}
	ix, whole := s.index, s.whole
	s.whole = false
	if anchor == "" {
		q.Before, q.After = 0, first
	}
	return s.env.Read(s.list.Loads, func(ctx context.Context) ui.Then {
		take := func() {}
		if with != nil {
			take = with(ctx)
		}
		w, err := read(ctx, ix, q, whole)
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

// count counts the rows: that may take longer than to find the first of them.
func (s *loader) count() tea.Cmd {
	ix, f := s.index, s.list.Filter.Shown
	return s.env.Read(s.counts, func(ctx context.Context) ui.Then {
		var n, version int64
		err := ix.Consistent(ctx, func(ix Index) (err error) {
			if n, err = ix.Count(ctx, f); err == nil {
				var fresh index.Freshness
				fresh, err = ix.Freshness(ctx)
				version = fresh.Version
			}
			return err
		})
		return func() (ui.Action, tea.Cmd) {
			if s.list.Failed(err) {
				return nil, nil
			}
			return nil, s.onCount(int(n), version)
		}
	})
}

// judging is what judge reads about.
func (s *loader) judging() string { return s.loaded + " " + s.sort.Field }

// judge reads how many rows the filter cannot judge, the notes that it finds rows by, and the currencies of amounts
// that rows are sorted by: once for each filter and order.
func (s *loader) judge() tea.Cmd {
	s.judges.Stop()
	s.judged, s.lacks, s.noted, s.sums = s.judging(), index.Unreported{}, nil, index.Group{}
	ix, f, amounts := s.index, s.list.Filter.Shown, s.sort.Amounts()
	if !amounts && len(f.Needs()) == 0 && len(filter.NotedTexts(f)) == 0 {
		return nil
	}
	return s.env.Read(s.judges, func(ctx context.Context) ui.Then {
		lacks, err := ix.Unreported(ctx, f)
		noted, failed := ix.Noted(ctx, f)
		err = cmp.Or(err, failed)
		var sums index.Group
		if amounts && err == nil {
			sums, err = ix.Totals(ctx, f, nil, 0)
		}
		return func() (ui.Action, tea.Cmd) {
			if !s.list.Failed(err) {
				s.lacks, s.noted, s.sums = lacks, noted, sums
				s.list.Changed()
			}
			return nil, nil
		}
	})
}

// onCount shows how many rows there are; when the index has changed since they were
// read both are read again, together.
func (s *loader) onCount(n int, version int64) tea.Cmd {
	if version != s.fresh.Version {
		s.whole = true
		return s.load(s.list.Table.Cursor.SelectedID())
	}
	s.rows.total = max(n, s.rows.base+len(s.rows.recs))
	s.list.Changed()
	return s.readOn()
}

// read reads rows and how old they are from one state of the index; whole: with
// how many there are.
func read(ctx context.Context, ix Index, q index.Query, whole bool) (w window, err error) {
	err = ix.Consistent(ctx, func(ix Index) error {
		w = window{}
		return w.read(ctx, ix, q, whole)
	})
	return w, err
}

func (m *window) read(ctx context.Context, ix Index, q index.Query, whole bool) error {
	if q.Anchor != "" {
		place, err := ix.Place(ctx, q.Filter, q.Sort, q.Anchor)
		if err != nil || !place.In {
			q.Anchor = ""
		} else {
			m.total, m.base, m.counted = int(place.Total), int(place.Before), true
		}
	}
	if q.Anchor == "" && !q.FromEnd {
		q.Before, q.After = 0, max(q.After, first)
	}
	w, err := ix.Window(ctx, q)
	if err != nil {
		return err
	}
	switch {
	case q.Anchor != "" && w.AnchorAt >= 0:
		m.base -= w.AnchorAt
	case !q.FromEnd && !whole:
		m.base, m.total, m.counted = 0, len(w.Rows), !w.More && q.Skip == 0
	default:
		n, err := ix.Count(ctx, q.Filter)
		if err != nil {
			return err
		}
		if m.total, m.counted = int(n), true; q.FromEnd {
			m.base = max(int(n)-len(w.Rows), 0)
		}
	}
	m.Window = w
	m.fresh, err = ix.Freshness(ctx)
	return err
}

func (s *loader) onWindow(w window, err error) tea.Cmd {
	if !s.list.Failed(err) {
		s.rows.set(w.total, max(w.base, 0), w.Rows)
		s.fresh = w.fresh
		s.partial = len(w.Rows) == 0 && !w.fresh.Complete
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
	case err == nil && !w.counted:
		next = s.count()
	}
	if err == nil && w.total == 0 && !s.list.Filter.Shown.Empty() {
		next = tea.Batch(next, s.missing())
	}
	if err == nil && s.judged != s.judging() {
		next = tea.Batch(next, s.judge())
	}
	return tea.Batch(next, s.readOn(), s.follows())
}

// readOn reads on when the cursor comes near the edge of what is held.
func (s *loader) readOn() tea.Cmd {
	from, to := s.list.Table.Cursor.Visible()
	r := s.rows
	end := r.base + len(r.recs)
	near := readAhead / 3
	switch {
	case s.list.Loads.Busy() || s.list.More.Busy() || len(r.recs) == 0:
		return nil
	case from >= end+readAhead || to <= r.base-readAhead: // a jump: to an end, or far
		return s.jump(from)
	case to+near > end && end < r.total:
		return s.extend(string(r.recs[len(r.recs)-1].Op.OPID), max(to-end, 0)+readAhead, false)
	case from-near < r.base && r.base > 0:
		return s.extend(string(r.recs[0].Op.OPID), max(r.base-from, 0)+readAhead, true)
	}
	return nil
}

func (s *loader) extend(anchor string, n int, before bool) tea.Cmd {
	ix, q := s.index, index.Query{Filter: s.list.Filter.Shown, Sort: s.sort, Anchor: anchor}
	if before {
		q.Before = n
	} else {
		q.After = n
	}
	draw := s.rows.draft()
	return s.env.Read(s.list.More, func(ctx context.Context) ui.Then {
		w, err := ix.Window(ctx, q)
		recs := without(w, before)
		drawn := draw(recs)
		return func() (ui.Action, tea.Cmd) {
			if s.list.Failed(err) {
				return nil, nil
			}
			s.rows.add(recs, drawn, before)
			s.list.Changed()
			return nil, s.readOn()
		}
	})
}

// without drops the anchor from a window that extends what is held.
func without(w index.Window, before bool) []index.Record {
	if w.AnchorAt < 0 || len(w.Rows) == 0 {
		return w.Rows
	}
	if before {
		return w.Rows[:w.AnchorAt]
	}
	return w.Rows[w.AnchorAt+1:]
}

// jump reads around a far place: the beginning or the end by its edge, anything
// else by skipping.
func (s *loader) jump(from int) tea.Cmd {
	ix, q, total := s.index, index.Query{Filter: s.list.Filter.Shown, Sort: s.sort, After: 2 * readAhead}, s.rows.total
	switch {
	case from >= total-2*readAhead:
		q.FromEnd, q.After, q.Before = true, 0, 2*readAhead
	case from > readAhead:
		q.Skip = from - readAhead
	}
	return s.env.Read(s.list.More, func(ctx context.Context) ui.Then {
		w, err := read(ctx, ix, q, false)
		w.base += q.Skip
		return func() (ui.Action, tea.Cmd) {
			if s.list.Failed(err) {
				return nil, nil
			}
			if !w.counted {
				w.total = max(w.total, s.rows.total)
			}
			s.rows.set(w.total, w.base, w.Rows)
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

// rows is the part of the list that is held: total rows, of which recs begin at
// base. The table asks for any row; one that is not held is drawn empty until it
// has been read.
type rows struct {
	env     *ui.Env
	columns []column // cells of a row, in this order
	total   int
	base    int
	recs    []*index.Record
	known   map[string]int // places of ids that were seen in this list
	drawn   map[int]drawn  // rows as they were drawn last, by place in the list
	at      time.Time      // the latest confirmation by the service among what is held
}

// drawn is a row and from when until when it looks like this.
type drawn struct {
	row         widget.Row
	from, until time.Time
	zone        *time.Location
	theme       string // its signs are in the cells
}

// holds reports whether the row still looks like this; a clock may have been set back.
func (d drawn) holds(env *ui.Env) bool {
	now := env.Now()
	return !now.Before(d.from) && now.Before(d.until) && d.zone == env.Zone() && d.theme == env.Theme.Name
}

func newRows(env *ui.Env) *rows {
	return &rows{env: env, known: map[string]int{}, drawn: map[int]drawn{}}
}

// set replaces what is held.
func (r *rows) set(total, base int, recs []index.Record) {
	r.total, r.base, r.recs = max(total, base+len(recs)), base, pointers(recs)
	r.known = make(map[string]int, len(recs))
	clear(r.drawn) // places may be other ones now
	r.note(0, len(r.recs))
}

// pointers are to the records, which are large.
func pointers(recs []index.Record) []*index.Record {
	out := make([]*index.Record, len(recs))
	for i := range recs {
		out[i] = &recs[i]
	}
	return out
}

// note remembers where the held rows from one to another are.
func (r *rows) note(from, to int) {
	for i := from; i < to; i++ {
		id := string(r.recs[i].Op.OPID) // part of the record's text, which a key of the map must not keep
		if _, seen := r.known[id]; !seen {
			id = strings.Clone(id)
		}
		r.known[id] = r.base + i
		delete(r.drawn, r.base+i)
	}
	r.at = time.Time{}
	for _, rec := range r.recs {
		if rec.Seen.After(r.at) {
			r.at = rec.Seen
		}
	}
}

// draft draws rows away from the loop of keys: what comes on the screen later has
// cost its key nothing. It keeps the look of the moment it was made for.
func (r *rows) draft() func([]index.Record) draft {
	env, columns := r.env.Snapshot(), r.columns
	return func(recs []index.Record) draft {
		d := draft{columns: columns, rows: make([]drawn, len(recs))}
		for i := range recs {
			d.rows[i] = drawRow(env, columns, &recs[i])
		}
		return d
	}
}

// draft is rows drawn ahead.
type draft struct {
	columns []column
	rows    []drawn
}

// lay takes over rows drawn ahead, from the held row from on, unless the columns
// are other ones by now.
func (r *rows) lay(d draft, from int) {
	if len(d.columns) == 0 || len(r.columns) == 0 || &d.columns[0] != &r.columns[0] {
		return
	}
	for i, one := range d.rows {
		if at := from + i; at >= 0 && at < len(r.recs) && one.row.ID == string(r.recs[at].Op.OPID) {
			r.drawn[r.base+at] = one
		}
	}
	r.forget()
}

// add puts rows behind (or before) what is held and drops the far end.
func (r *rows) add(recs []index.Record, d draft, before bool) {
	if before {
		r.recs = append(pointers(recs), r.recs...)
		fresh := len(recs)
		if r.base < fresh { // there are more than was thought: all places move
			clear(r.drawn)
			fresh = len(r.recs)
		}
		r.base = max(r.base-len(recs), 0)
		r.recs = r.recs[:min(len(r.recs), keeps)]
		r.note(0, min(fresh, len(r.recs)))
		r.lay(d, 0)
	} else {
		r.recs = append(r.recs, pointers(recs)...)
		if over := len(r.recs) - keeps; over > 0 {
			r.recs = append([]*index.Record(nil), r.recs[over:]...)
			r.base += over
		}
		r.note(max(len(r.recs)-len(recs), 0), len(r.recs))
		r.lay(d, len(r.recs)-len(recs))
	}
	r.total = max(r.total, r.base+len(r.recs))
}

// replace shows a newer state of one row at once.
func (r *rows) replace(op api.Operation, seen time.Time) {
	i, ok := r.known[string(op.OPID)]
	if i -= r.base; ok && i >= 0 && i < len(r.recs) && !op.UpdatedAt.Before(r.recs[i].Op.UpdatedAt.Time) {
		fresh := *r.recs[i] // the old one may be read elsewhere
		fresh.Op, fresh.Seen = op, seen
		r.recs[i] = &fresh
		delete(r.drawn, r.base+i)
		if seen.After(r.at) {
			r.at = seen
		}
	}
}

func (r *rows) record(id string) (index.Record, bool) {
	i, ok := r.known[id]
	if i -= r.base; !ok || i < 0 || i >= len(r.recs) || string(r.recs[i].Op.OPID) != id {
		return index.Record{}, false
	}
	return *r.recs[i], true
}

// Len implements widget.Source.
func (r *rows) Len() int { return r.total }

// IndexOf implements widget.Source. A row that was seen and is not held any more
// counts as still there, so that its mark stays.
func (r *rows) IndexOf(id string) int {
	if i, ok := r.known[id]; ok {
		return i
	}
	return -1
}

// Row implements widget.Source. A row is made once and kept while it looks the
// same: a key then costs what it changes.
func (r *rows) Row(i int) widget.Row {
	at := i - r.base
	if at < 0 || at >= len(r.recs) {
		return widget.Row{Cells: []string{r.env.Theme.Signs.More}}
	}
	if d, ok := r.drawn[i]; ok && d.holds(r.env) {
		return d.row
	}
	d := drawRow(r.env, r.columns, r.recs[at])
	r.drawn[i] = d
	r.forget()
	return d.row
}

// forget drops drawn rows that are not held any more: their cells keep the text of their record.
func (r *rows) forget() {
	if len(r.drawn) > 2*keeps {
		maps.DeleteFunc(r.drawn, func(at int, _ drawn) bool { return at < r.base || at >= r.base+len(r.recs) })
	}
}

// drawRow draws a record in these columns.
func drawRow(env *ui.Env, columns []column, rec *index.Record) drawn {
	o := env.Present()
	until := o.Now.Add(time.Hour) // what time alone changes says so
	out := widget.Row{ID: string(rec.Op.OPID), Cells: make([]string, len(columns)),
		Tones: make([]theme.Tone, len(columns))}
	o.Masked = false // the index masks its rows itself
	for i := range columns {
		cell := columns[i].Cell(o, rec.Op)
		out.Cells[i], out.Tones[i] = cell.Text, cell.Tone
		until = ui.Sooner(until, cell.Until)
	}
	for _, sign := range signs {
		if sign.is(&rec.Op) {
			out.Sign, out.Tone = sign.look.Sign(env.Theme), sign.look.Tone
			break
		}
	}
	return drawn{row: out, from: o.Now, until: until, zone: o.Zone, theme: env.Theme.Name}
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
	return s.list.Loaded && !s.fresh.Complete && s.rows.total == 0 && s.fresh.Rows == 0
}

// says says how much of the list the index holds, and how old that is.
func (s *loader) says() string { return s.fresh.Says(s.env.Now(), s.env.Zone()) }

// readSoFar says how much of the list the index holds; "" if it holds all of it. Sums and exports lack the rest.
func (s *loader) readSoFar() string {
	if !s.list.Loaded || s.fresh.Complete || s.fresh.Rows == 0 {
		return ""
	}
	out := s.says()
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

// missing reads which words of a filter that matches nothing no operation has.
func (s *loader) missing() tea.Cmd {
	ix, f := s.index, s.list.Filter.Shown
	return s.env.Read(s.misses, func(ctx context.Context) ui.Then {
		said, err := ix.Missing(ctx, f)
		return func() (ui.Action, tea.Cmd) {
			if err == nil && s.rows.total == 0 { // without it the list says only that nothing matches
				s.lost = said
				s.list.Changed()
			}
			return nil, nil
		}
	})
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
