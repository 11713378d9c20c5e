package operations

import (
	"maps"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/ui"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

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
	mixed   bool           // amounts that are held are of several currencies
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
	r.at, r.mixed = time.Time{}, false
	for _, rec := range r.recs {
		if rec.Seen.After(r.at) {
			r.at = rec.Seen
		}
		r.mixed = r.mixed || rec.Op.SourceAmount.Sum.CurrencyCode != r.recs[0].Op.SourceAmount.Sum.CurrencyCode
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
