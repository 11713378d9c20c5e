package index

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"opdeck/api"
	"opdeck/api/evidence"
	"opdeck/api/redact"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/note"
	"opdeck/internal/field"
)

// Lookup is the result of a search for something typed.
type Lookup struct {
	// Beginning are the operations whose id has what was typed as a prefix, or whose id lists abbreviate like that
	// ("237f91d…8bf1b4"), newest first. An exact match comes first.
	Beginning []Record
	// Others are operations that a list with this filter shows, newest first.
	Others  []Record
	Several bool // more ids begin with it
	// Whole: it may be a complete id, so the service can be asked for it even if the index lacks it.
	Whole bool
	// IDs is the number of ids that were typed if it was a list of them, and Known the number of those in the index.
	IDs, Known int
	Missing    string // as of Index.Missing, if nothing was found
}

// Only is the only operation with that id or prefix; "" for none or several.
func (l Lookup) Only(typed string) (opid string) {
	if len(l.Beginning) == 0 {
		return ""
	}
	typed = api.ReadID(typed)
	first := string(l.Beginning[0].Op.OPID)
	if strings.EqualFold(first, strings.TrimSpace(typed)) || len(l.Beginning) == 1 && !l.Several {
		return first
	}
	return ""
}

// Find searches operations by the beginning of an id, and by anything that a filter understands, with its days in
// zone; at most limit of each. An error for a text that is no filter is a *filter.Error. It makes no call.
func (x *Index) Find(ctx context.Context, typed string, zone *time.Location, limit int,
	now time.Time) (Lookup, error) {
	typed = strings.TrimSpace(typed)
	l := lookup{x, now}
	f, wrong := filter.Parse(typed)
	id := onlyID(f, typed)
	out, err := l.byID(ctx, id, limit)
	if err != nil || typed == "" {
		return out, err
	}
	if wrong != nil {
		return out, wrong
	}
	odd := api.Unusual(id)
	spoiled := out.Whole && odd != "" && !strings.Contains(id, " ")
	out.Whole = out.Whole && odd == ""
	f = f.In(zone)
	rows, err := l.matching(ctx, f, limit+len(out.Beginning))
	if err != nil {
		return out, err
	}
	for _, r := range rows {
		switch same := func(o Record) bool { return o.Op.OPID == r.Op.OPID }; {
		case slices.ContainsFunc(out.Beginning, same):
		case len(out.Others) < limit:
			out.Others = append(out.Others, r)
		}
	}
	if ids := f.IDs(); len(ids) > 1 {
		out.IDs = len(ids)
		n, err := x.Count(ctx, f, now)
		out.Known = int(n)
		return out, err
	}
	if len(out.Beginning)+len(out.Others) == 0 {
		if out.Missing, err = x.Missing(ctx, f, now); spoiled {
			out.Missing = "No id of the service has " + odd + "."
		}
	}
	return out, err
}

// onlyID is the id in a text that was pasted with something around it, else the text.
func onlyID(f filter.OperationExpr, typed string) string {
	if ids := f.IDs(); len(ids) == 1 {
		return ids[0]
	}
	return typed
}

// Missing says, in safe sentences, how a filter that matches nothing was understood, and which of its terms, or ids of
// its list, no operation matches even alone: the first three; of one term only how it was understood.
func (x *Index) Missing(ctx context.Context, f filter.OperationExpr, now time.Time) (string, error) {
	var said strings.Builder
	parts, several := f.Alone(), len(f.IDs()) > 1
	for _, read := range f.Understood(now) {
		if !several {
			said.WriteString(untrusted.Text(read).Line(200) + ". ")
		}
	}
	if len(parts) < 2 {
		return strings.TrimSpace(said.String()), nil
	}
	var none []string
	for _, alone := range parts {
		rows, err := lookup{x, now}.matching(ctx, alone, 1)
		if err != nil {
			return "", err
		}
		if len(rows) > 0 {
			continue
		}
		if none = append(none, "“"+untrusted.Text(alone.String()).Line(40)+"”"); len(none) == 3 {
			break
		}
	}
	switch {
	case len(none) == 0 && several:
		return "", nil
	case len(none) == 0:
		return said.String() + "Each part matches operations, but none matches all.", nil
	}
	return said.String() + "Nothing matches " + strings.Join(none, ", ") + ".", nil
}

// lookup is one search by what a person typed.
type lookup struct {
	index *Index
	now   time.Time
}

// byID finds the id matches of a Lookup.
func (l lookup) byID(ctx context.Context, typed string, limit int) (out Lookup, err error) {
	head, tail, shortened := strings.Cut(strings.ReplaceAll(typed, "...", "…"), "…")
	if api.CheckID("find operation", head) != nil ||
		shortened && tail != "" && api.CheckID("find operation", tail) != nil {
		return out, nil
	}
	f, err := filter.Parse(field.OpID + ":" + filter.Quoted(typed))
	if err != nil { // not a valid filter value
		return out, nil
	}
	rows, err := l.matching(ctx, f, limit+1)
	if err != nil {
		return out, err
	}
	for _, r := range rows {
		switch id := string(r.Op.OPID); {
		case strings.EqualFold(id, typed):
			out.Beginning = append([]Record{r}, out.Beginning...)
		case len(out.Beginning) < limit:
			out.Beginning = append(out.Beginning, r)
		default:
			out.Several = true
		}
	}
	if !shortened && !slices.ContainsFunc(out.Beginning, func(r Record) bool { return string(r.Op.OPID) == typed }) {
		out, err = l.exact(ctx, out, typed)
	}
	if err != nil || shortened {
		return out, err
	}
	out.Whole, err = l.whole(ctx, typed)
	return out, err
}

// exact puts the operation with exactly this id first, even if it is gone from the list.
func (l lookup) exact(ctx context.Context, out Lookup, id string) (Lookup, error) {
	r, err := l.index.Get(ctx, id)
	if errors.Is(err, ErrNone) {
		return out, nil
	}
	if err == nil {
		out.Beginning = append([]Record{r}, out.Beginning...)
	}
	return out, err
}

// whole reports whether id can be a complete one: a UUID, or as long as a known id. Without known ids, any can.
func (l lookup) whole(ctx context.Context, id string) (bool, error) {
	if _, err := uuid.Parse(id); err == nil && len(id) == 36 {
		return true, nil
	}
	w, err := l.index.Window(ctx, Query{Sort: Sort{Field: field.OpCreated, Desc: true}, Limit: 1}, l.now)
	if err != nil {
		return false, err
	}
	return len(w.Rows) == 0 || len(id) >= len(w.Rows[0].Op.OPID), nil
}

// matching lists the newest operations that match.
func (l lookup) matching(ctx context.Context, f filter.OperationExpr, limit int) ([]Record, error) {
	w, err := l.index.Window(ctx, Query{Filter: f, Sort: Sort{Field: field.OpCreated, Desc: true}, Limit: limit}, l.now)
	return w.Rows, err
}

// Resolve returns the complete id for what a person typed: the id itself, the only match by prefix in the index, or
// an abbreviated id. Otherwise the error is an api.Error of kind NotFound, or Usage if several match. It makes no
// call.
func (x *Index) Resolve(ctx context.Context, typed string, now time.Time) (string, error) {
	typed = api.ReadID(typed)
	l, err := lookup{x, now}.byID(ctx, typed, 5)
	if err != nil {
		return "", err
	}
	if id := l.Only(typed); id != "" {
		return id, nil
	}
	switch {
	case len(l.Beginning) > 0:
		var ids []string
		for _, r := range l.Beginning {
			ids = append(ids, r.Op.OPID.Line(64))
		}
		said := strings.Join(ids, ", ")
		if l.Several {
			said += " and others"
		}
		return "", &api.Error{Op: "find operation", Kind: api.Usage,
			Public: fmt.Sprintf("Several operations begin with %q: %s.", typed, said)}
	case l.Whole && api.Unusual(typed) != "":
		return "", &api.Error{Op: "find operation", Kind: api.Usage, Rule: api.RuleIdentifier,
			Public: fmt.Sprintf("No id of the service has %s: %q.", api.Unusual(typed), typed),
			Remedy: api.Remedy{Kind: api.CopyID}}
	case l.Whole:
		return typed, nil
	}
	whole := strings.ReplaceAll(strings.ReplaceAll(typed, "…", ""), "...", "")
	if err := api.CheckID("find operation", whole); err != nil {
		return typed, nil // the call refuses it and says why
	}
	return "", &api.Error{Op: "find operation", Kind: api.NotFound,
		Public: fmt.Sprintf("No known operation begins with %q, and it is not a complete id.", typed),
		Remedy: api.Remedy{Kind: api.CopyID}}
}

// Order is the sort order of the service's list, inferred from its pages; it is not documented.
type Order string

// The orders. Without one, new rows may be anywhere in the list, and only the rolling pass finds them.
const (
	OrderUnknown     Order = ""               // not known yet
	OrderNone        Order = "none"           // they contradict every order
	NewestFirst      Order = "newest"         // by createdAt
	OldestFirst      Order = "oldest"         //
	NewestChangeWise Order = "newest-changed" // by updatedAt
	OldestChangeWise Order = "oldest-changed" //
)

// orders are the hypotheses, preferred ones first; their indexes are the bits of Signs.
var orders = [...]Order{NewestFirst, OldestFirst, NewestChangeWise, OldestChangeWise}

// Sorted reports whether new rows are at one end of the list.
func (o Order) Sorted() bool { return o != OrderUnknown && o != OrderNone }

// backwards reports whether the list grows at its last page.
func (o Order) backwards() bool { return o == OldestFirst || o == OldestChangeWise }

// key is the sort key, in µs since 1970; ok is false if the record lacks it.
func (o Order) key(op api.Operation) (us int64, ok bool) {
	t := op.CreatedAt.Time
	if o == NewestChangeWise || o == OldestChangeWise {
		t = op.UpdatedAt.Time
	}
	return t.UnixMicro(), !t.IsZero()
}

// top is the newest key of rows that is not ahead of now: a record with a future time must not hide older ones. If
// all are ahead, it is the oldest.
func (o Order) top(rows []api.Operation, now time.Time) int64 {
	best, least, limit := int64(0), int64(0), now.UnixMicro()
	for _, op := range rows {
		k, ok := o.key(op)
		if !ok {
			continue
		}
		if k <= limit && (best == 0 || k > best) {
			best = k
		}
		if least == 0 || k < least {
			least = k
		}
	}
	if best == 0 {
		return least
	}
	return best
}

// Signs are what the pages since the start of a pass show of the order.
type Signs struct {
	Against int      `json:"against,omitempty"` // bits of orders contradicted by a page
	For     int      `json:"for,omitempty"`     // bits of orders shown by a page
	Low     [2]int64 `json:"low"`               // smallest createdAt and updatedAt of the last page
	High    [2]int64 `json:"high"`              // largest
}

// odd: one neighbour in odd may be out of order, because several machines' clocks stamp the records.
const odd = 20

// observe adds a page; follows: it directly continues the previous page, with nothing removed between them.
func (s *Signs) observe(rows []api.Operation, follows bool) {
	for i, by := range [2]Order{NewestFirst, NewestChangeWise} {
		up, down := 0, 0
		var low, high, last int64
		for _, op := range rows {
			k, ok := by.key(op)
			if !ok {
				continue
			}
			switch {
			case last != 0 && k > last:
				up++
			case last != 0 && k < last:
				down++
			}
			last = k
			if low == 0 || k < low {
				low = k
			}
			if high == 0 || k > high {
				high = k
			}
		}
		allowed := (up + down) / odd
		s.note(2*i, down > up, up > allowed)
		s.note(2*i+1, up > down, down > allowed)
		if follows && low != 0 && s.Low[i] != 0 {
			s.note(2*i, high < s.Low[i], low > s.High[i])
			s.note(2*i+1, low > s.High[i], high < s.Low[i])
		}
		s.Low[i], s.High[i] = low, high
	}
}

func (s *Signs) note(bit int, shown, contradicted bool) {
	if shown {
		s.For |= 1 << bit
	}
	if contradicted {
		s.Against |= 1 << bit
	}
}

// decide returns the order; the previous one, have, remains until a page contradicts it.
func (s Signs) decide(have Order) Order {
	best, open := OrderUnknown, false
	for i, o := range orders {
		switch {
		case s.Against&(1<<i) != 0:
		case o == have:
			return have
		case s.For&(1<<i) != 0 && best == OrderUnknown:
			best = o
			fallthrough
		default:
			open = true
		}
	}
	if !open {
		return OrderNone
	}
	return best
}

// digest identifies a page by its identifiers.
func digest(rows []api.Operation) string {
	h := sha256.New()
	for _, op := range rows {
		h.Write([]byte(op.OPID))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Arrange filters and sorts operations that are not in the index, such as one page of the service, like Window.
func (x *Index) Arrange(ctx context.Context, ops []api.Operation, f filter.OperationExpr, s Sort,
	now time.Time) ([]api.Operation, error) {
	f, err := asked(ctx, x, f)
	if err != nil {
		return nil, err
	}
	out := slices.DeleteFunc(slices.Clone(ops), func(o api.Operation) bool { return !f.Match(o, now) })
	by := field.Operations.Get(s.By())
	slices.SortStableFunc(out, func(a, b api.Operation) int {
		c := compareField(by, a, b)
		if s.Desc {
			c = -c
		}
		return cmp.Or(c, b.CreatedAt.Compare(a.CreatedAt.Time))
	})
	return out, nil
}

func compareField(f field.Field[api.Operation], a, b api.Operation) int {
	switch f.Kind {
	case field.Time:
		return f.Time(a).Compare(f.Time(b).Time)
	case field.Money:
		return strings.Compare(filter.MoneyKey(f.Money(a)), filter.MoneyKey(f.Money(b)))
	case field.Count:
		return cmp.Compare(countOf(f, a), countOf(f, b))
	case field.Code:
		return strings.Compare(filter.Clean(string(f.Text(a))), filter.Clean(string(f.Text(b))))
	}
	return strings.Compare(filter.Fold(string(f.Text(a))), filter.Fold(string(f.Text(b))))
}

// countOf is a count for sorting; a count that was not reported sorts before zero.
func countOf(f field.Field[api.Operation], o api.Operation) int64 {
	if !f.IsReported(o) {
		return filter.NotReported
	}
	return int64(f.Count(o))
}

// Beside has records about operations that the index does not hold; the methods see them as the person in ctx may.
type Beside interface {
	// InDoubt lists the ids of operations with a write of ours whose outcome is unknown.
	InDoubt(ctx context.Context) ([]string, error)
	// Waiting lists the ids of operations with something that waits for the person.
	Waiting(ctx context.Context) ([]string, error)
	// Find lists the notes that contain a text, newest first.
	Find(ctx context.Context, text string, limit int) ([]note.Note, error)
}

// A word finds operations by the newest notes with it: so many notes, and of these so many on customers, who have many
// operations. This keeps a filter quick.
const (
	notesAtMost     = 200
	customersAtMost = 20
)

// asked is f for the person in ctx, with what the records beside the index say.
func asked(ctx context.Context, x *Index, f filter.OperationExpr) (filter.OperationExpr, error) {
	f = f.For(ctx)
	if x.Beside == nil || f.Empty() {
		return f, nil
	}
	b := besideFor{ctx, x.Beside}
	return filter.AskBeside(f, b.holds, b.noted)
}

// Noted lists the notes that a filter finds operations by, newest first for each word.
func (x *Index) Noted(ctx context.Context, f filter.OperationExpr) (out []note.Note, err error) {
	if x.Beside == nil || f.Empty() {
		return nil, nil
	}
	for _, text := range filter.NotedTexts(f) {
		list, err := x.Beside.Find(ctx, text, notesAtMost)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// besideFor asks for one person.
type besideFor struct {
	ctx context.Context
	Beside
}

// holds names the operations for which filter.Doubt or filter.Waiting holds.
func (b besideFor) holds(flag string) (n filter.Named, err error) {
	if flag == filter.Doubt {
		n.OPIDs, err = b.InDoubt(b.ctx)
	} else {
		n.OPIDs, err = b.Waiting(b.ctx)
	}
	return n, err
}

// noted names the operations with a note that contains the text.
func (b besideFor) noted(text string) (n filter.Named, err error) {
	list, err := b.Find(b.ctx, text, notesAtMost)
	for _, one := range list {
		if one.Object == note.Customer && len(n.CUIDs) < customersAtMost {
			n.CUIDs = append(n.CUIDs, one.ID)
		} else if one.Object == note.Operation {
			n.OPIDs = append(n.OPIDs, one.ID)
		}
	}
	return n, err
}

// The index's API for people: a person who may not reveal account numbers gets masked answers and finds nothing by
// masked values. The program itself uses the store.

// refused reads the documents that the service refused to remove.
func (x *Index) refused(ctx context.Context) api.RefusedLocks {
	if x.RefusedLocks == nil {
		return nil
	}
	return x.RefusedLocks(ctx)
}

// record is r for the person in ctx, in this host's time.
func (x *Index) record(ctx context.Context, r Record, by time.Duration, refused api.RefusedLocks) Record {
	r.Op.Documents = refused.In(r.Op)
	r.Seen, r.Changed, r.Gone = x.local(r.Seen, by), x.local(r.Changed, by), x.local(r.Gone, by)
	if r.Origin == Hook {
		r.Op = named(r.Op)
	}
	return mask.For(ctx, r)
}

// Get returns one operation, even if it is gone, and notes the evidence for that; ErrNone if it is not in the index.
func (x *Index) Get(ctx context.Context, opid string) (Record, error) {
	r, err := x.store.Get(ctx, opid)
	if err != nil {
		return Record{}, err
	}
	if !r.Gone.IsZero() {
		now, err := x.store.Now(ctx)
		if err != nil {
			return Record{}, err
		}
		why, need := r.gone(opid, now)
		why, holds := why.Held(need, "not known to be gone")
		if evidence.Note(ctx, why); !holds {
			r.Gone = time.Time{}
		}
	}
	by, err := x.shift(ctx)
	return x.record(ctx, r, by, x.refused(ctx)), err
}

// Window reads the rows around a position in the list.
func (x *Index) Window(ctx context.Context, q Query, now time.Time) (Window, error) {
	f, err := asked(ctx, x, q.Filter)
	if err != nil {
		return Window{}, err
	}
	q.Filter = f
	by, err := x.shift(ctx)
	if err != nil {
		return Window{}, err
	}
	w, err := x.store.Window(ctx, q, now)
	refused := x.refused(ctx)
	for i, r := range w.Rows {
		w.Rows[i] = x.record(ctx, r, by, refused)
	}
	return w, err
}

// Each calls fn for every row in order, from a list that is frozen before the first call.
func (x *Index) Each(ctx context.Context, f filter.OperationExpr, s Sort, now time.Time,
	fn func(total int, r Record) error) error {
	by, err := x.shift(ctx)
	if err != nil {
		return err
	}
	if f, err = asked(ctx, x, f); err != nil {
		return err
	}
	refused := x.refused(ctx)
	return x.store.Each(ctx, f, s, now, func(total int, r Record) error {
		return fn(total, x.record(ctx, r, by, refused))
	})
}

// Count counts the rows that match the filter.
func (x *Index) Count(ctx context.Context, f filter.OperationExpr, now time.Time) (int64, error) {
	f, err := asked(ctx, x, f)
	if err != nil {
		return 0, err
	}
	return x.store.Count(ctx, f, now)
}

// Place returns the position of an operation in a list.
func (x *Index) Place(ctx context.Context, f filter.OperationExpr, s Sort, opid string, now time.Time) (Place, error) {
	f, err := asked(ctx, x, f)
	if err != nil {
		return Place{}, err
	}
	return x.store.Place(ctx, f, s, opid, now)
}

// Totals sums and counts the matching rows, divided by the groupings.
func (x *Index) Totals(ctx context.Context, f filter.OperationExpr, by []By, limit int, now time.Time) (Group, error) {
	f, err := asked(ctx, x, f)
	if err != nil {
		return Group{}, err
	}
	all, err := x.store.Totals(ctx, f, by, limit, now)
	return mask.For(ctx, all), err
}

// Timeline counts the matching rows by time of creation.
func (x *Index) Timeline(ctx context.Context, f filter.OperationExpr, now time.Time) (Timeline, error) {
	f, err := asked(ctx, x, f)
	if err != nil {
		return Timeline{}, err
	}
	return x.store.Timeline(ctx, f, now)
}

// History returns the states of an operation, oldest first, ending with the current one.
func (x *Index) History(ctx context.Context, opid string) ([]State, error) {
	by, err := x.shift(ctx)
	if err != nil {
		return nil, err
	}
	states, err := x.store.History(ctx, opid)
	for i := range states {
		states[i].At = x.local(states[i].At, by)
		if states[i].Origin == Hook {
			states[i].Op = named(states[i].Op)
		}
		if states[i].Gone && states[i].Current { // the note of what shows it
			if _, err := x.Get(ctx, opid); err != nil {
				return nil, err
			}
		}
	}
	return mask.For(ctx, states), err
}

// Values lists values of a field that contain what was typed, without those that would be masked.
func (x *Index) Values(ctx context.Context, field, typed string, limit int) ([]string, error) {
	if !mask.Needed(ctx) {
		return x.store.Values(ctx, field, typed, limit)
	}
	all, err := x.store.Values(ctx, field, typed, 8*limit) // more, since omitted values must not show in a short list
	var out []string
	for _, v := range all {
		if len(out) < limit && !redact.Changes(v) && !strings.Contains(v, redact.Dot) {
			out = append(out, v)
		}
	}
	return out, err
}

// MarkSeen records that a person has seen the operation ("" for the list).
func (x *Index) MarkSeen(ctx context.Context, person, opid string, at time.Time) error {
	by, err := x.shift(ctx)
	if err != nil {
		return err
	}
	return x.store.MarkSeen(ctx, person, opid, at.Add(-by))
}

// LastSeen is the time of MarkSeen; zero for never.
func (x *Index) LastSeen(ctx context.Context, person, opid string) (time.Time, error) {
	at, err := x.store.LastSeen(ctx, person, opid)
	if err != nil || at.IsZero() {
		return at, err
	}
	by, err := x.shift(ctx)
	return at.Add(by), err
}
