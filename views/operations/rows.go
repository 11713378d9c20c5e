package operations

import (
	"time"

	"opdeck/api"
	"opdeck/internal/index"
	"opdeck/ui"
	"opdeck/ui/text"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// columns of the list; sortColumn knows their order.
var columns = []widget.Column{
	{Title: "created", Min: 16, Drop: 3}, {Title: "status", Min: 12, Max: 16}, {Title: "type", Min: 9, Max: 12, Drop: 4},
	{Title: "via", Min: 7, Max: 9, Drop: 5}, {Title: "amount", Min: 12, Align: widget.Decimal},
	{Title: "customer", Min: 12, Max: 40, Flex: 2}, {Title: "to", Min: 12, Max: 40, Flex: 2, Drop: 2},
	{Title: "docs", Min: 5, Drop: 6}, {Title: "updated", Min: 8, Drop: 7}, {Title: "id", Min: 13, Max: 36, Flex: 1, Middle: true, Drop: 1},
}

func sortColumn(field string) int {
	for i, f := range []string{"created", "status", "type", "payment", "amount", "customer", "destination", "docs", "updated", "id"} {
		if f == field {
			return i
		}
	}
	return -1
}

// rows is the part of the list that is held: total rows, of which recs begin at
// base. The table asks for any row; one that is not held is drawn empty until it
// has been read.
type rows struct {
	env   *ui.Env
	total int
	base  int
	recs  []index.Record
	known map[string]int // places of ids that were seen in this list
	drawn map[int]drawn  // rows as they were drawn last, by place in the list
}

// drawn is a row and until when it looks like this.
type drawn struct {
	row   widget.Row
	until time.Time
	zone  *time.Location
}

func newRows(env *ui.Env) *rows {
	return &rows{env: env, known: map[string]int{}, drawn: map[int]drawn{}}
}

// set replaces what is held.
func (r *rows) set(total, base int, recs []index.Record) {
	r.total, r.base, r.recs = max(total, base+len(recs)), base, recs
	r.known = make(map[string]int, len(recs))
	r.note()
}

// note remembers where rows are; what was drawn may be out of date.
func (r *rows) note() {
	clear(r.drawn)
	for i, rec := range r.recs {
		r.known[string(rec.Op.OPID)] = r.base + i
	}
}

// add puts rows behind (or before) what is held and drops the far end.
func (r *rows) add(recs []index.Record, before bool) {
	if before {
		r.recs = append(append([]index.Record(nil), recs...), r.recs...)
		r.base = max(r.base-len(recs), 0)
		if len(r.recs) > keeps {
			r.recs = r.recs[:keeps]
		}
	} else {
		r.recs = append(r.recs, recs...)
		if over := len(r.recs) - keeps; over > 0 {
			r.recs = append([]index.Record(nil), r.recs[over:]...)
			r.base += over
		}
	}
	r.total = max(r.total, r.base+len(r.recs))
	r.note()
}

// replace shows a newer state of one row at once.
func (r *rows) replace(op api.Operation, seen time.Time) {
	i, ok := r.known[string(op.OPID)]
	if i -= r.base; ok && i >= 0 && i < len(r.recs) && !op.UpdatedAt.Before(r.recs[i].Op.UpdatedAt.Time) {
		r.recs[i].Op, r.recs[i].Seen = op, seen
		delete(r.drawn, r.base+i)
	}
}

func (r *rows) record(id string) (index.Record, bool) {
	i, ok := r.known[id]
	if i -= r.base; !ok || i < 0 || i >= len(r.recs) || string(r.recs[i].Op.OPID) != id {
		return index.Record{}, false
	}
	return r.recs[i], true
}

// newest is the latest confirmation by the service among what is held.
func (r *rows) newest() time.Time {
	var t time.Time
	for _, rec := range r.recs {
		if rec.Seen.After(t) {
			t = rec.Seen
		}
	}
	return t
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
	now, zone := r.env.Now(), r.env.Zone()
	if d, ok := r.drawn[i]; ok && now.Before(d.until) && d.zone == zone {
		return d.row
	}
	d := drawn{zone: zone}
	d.row, d.until = row(r.env, r.recs[at], now)
	if len(r.drawn) > keeps {
		clear(r.drawn)
	}
	r.drawn[i] = d
	return d.row
}

// row draws a record, and tells until when it looks like this.
func row(env *ui.Env, rec index.Record, now time.Time) (widget.Row, time.Time) {
	o, th := rec.Op, env.Theme
	st := th.Status(string(o.Status))
	docs, locked := len(o.Documents), false
	for _, d := range o.Documents {
		locked = locked || d.IsLock
	}
	paper := ""
	if docs > 0 {
		paper = text.Count(docs)
		if locked {
			paper += " " + th.Signs.Locked
		}
	}
	updated, until := text.Ago(o.UpdatedAt.Time, now)
	if until.IsZero() {
		until = now.Add(time.Hour) // nothing of it is told by time
	}
	out := widget.Row{ID: string(o.OPID),
		Cells: []string{text.Minute(o.CreatedAt.Time, env.Zone()), st.Sign + " " + o.Status.Line(20), o.Type.Line(20), o.PaymentType.Line(20),
			text.Money(o.SourceAmount.Sum), o.Customer.Name.Line(100), o.Destination.Name().Line(100), paper, updated, o.OPID.Line(64)},
		Tones: []theme.Tone{theme.Plain, st.Tone, theme.Plain, theme.Plain, theme.Plain, theme.Plain, theme.Plain, theme.Dim, theme.Dim, theme.Dim}}
	switch {
	case o.Customer.Name.Flags().Suspicious() || o.Destination.Name().Flags().Suspicious() || o.Comment.Flags().Suspicious():
		out.Sign, out.Tone = th.Signs.Warn, theme.Warn
	case o.IsParent:
		out.Sign, out.Tone = th.Signs.Crumb, theme.Dim
	case !o.IsVisible:
		out.Sign, out.Tone = th.Signs.Off, theme.Dim
	}
	return out, until
}
