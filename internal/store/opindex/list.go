package opindex

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/store"
)

// Get returns one operation, index.ErrNone when there is none.
func (x *Store) Get(ctx context.Context, opid string) (index.Record, error) {
	n, found, err := store.Find[int64](ctx, x.q, "SELECT n FROM index_op WHERE scope = ? AND opid_fold = ? AND opid = ?",
		x.scope, filter.FoldID(opid), opid)
	if err != nil {
		return index.Record{}, err
	}
	if !found {
		return x.gone(ctx, opid)
	}
	list, err := x.records(ctx, []int64{n})
	if err == nil && len(list) == 0 {
		err = index.ErrNone
	}
	if err != nil {
		return index.Record{}, err
	}
	return list[0], nil
}

// records reads operations by number, in that order, without missing ones.
func (x *Store) records(ctx context.Context, ns []int64) ([]index.Record, error) {
	out, places := make([]index.Record, len(ns)), make(map[int64]int, len(ns)) // a record is large: each is read in place
	for i, n := range ns {
		places[n] = i
	}
	found := make([]bool, len(ns))
	err := store.EachIn(ctx, x.q, ns, func(scan store.Scan) error {
		var n, seen, changed, doubt int64
		var origin index.Origin
		var body []byte
		err := scan(&n, &origin, &seen, &changed, &doubt, &body)
		if err != nil {
			return err
		}
		i := places[n]
		r := &out[i]
		found[i], r.Origin = true, origin
		r.Op, err = decodeOp(body)
		r.Seen, r.Changed, r.Owed = sight(seen), micros(changed), doubt > 0
		return err
	}, `SELECT o.n, o.origin, s.seen_us, o.changed_us, o.doubt, r.body
		FROM index_op o JOIN index_sight s ON s.n = o.n JOIN index_raw r ON r.n = o.n WHERE o.n IN`)
	if err != nil {
		return nil, err
	}
	ops := make([]*api.Operation, len(out))
	for i := range out {
		ops[i] = &out[i].Op
	}
	if err := x.name(ctx, ops...); err != nil {
		return nil, err
	}
	if !slices.Contains(found, false) {
		return out, nil
	}
	there := make([]index.Record, 0, len(ns))
	for i, ok := range found {
		if ok {
			there = append(there, out[i])
		}
	}
	return there, nil
}

// order is an order of rows by a key. Rows of one word or party are newest first; else the later number is the greater.
type order struct {
	key    string // of index_op o, or of the party p
	party  string // the column of o with the number of p; "": none
	newest bool
}

// orders are those by other fields than columns has.
var orders = map[string]order{
	field.OpReference:   {key: "substr(o.reference, 1, 100)"},
	field.OpStatus:      {key: "o.status", newest: true},
	field.OpType:        {key: "o.type", newest: true},
	field.OpPayment:     {key: "o.payment", newest: true},
	field.OpCurrency:    {key: "o.currency", newest: true},
	field.OpCustomer:    {key: "p.sort", party: "o.customer", newest: true},
	field.OpSource:      {key: "p.sort", party: "o.source", newest: true},
	field.OpDestination: {key: "p.sort", party: "o.destination", newest: true},
}

func orderOf(name string) (order, bool) {
	if column, ok := columns[name]; ok {
		return order{key: column}, true
	}
	by, ok := orders[name]
	return by, ok
}

// term is an expression of an ORDER BY.
type term struct {
	expr string
	desc bool
}

func (o order) terms(desc bool) []term {
	out := []term{{o.key, desc}}
	if o.party != "" {
		out = append(out, term{"p.n", desc})
	}
	if o.newest {
		return append(out, term{"o.created_us", true}, term{"o.n", true})
	}
	return append(out, term{"o.n", desc})
}

// reversed is the order from the end.
func reversed(terms []term) []term {
	out := slices.Clone(terms)
	for i := range out {
		out[i].desc = !out[i].desc
	}
	return out
}

func orderBy(terms []term) string {
	var out []string
	for _, t := range terms {
		if t.desc {
			t.expr += " DESC"
		}
		out = append(out, t.expr)
	}
	return " ORDER BY " + strings.Join(out, ", ")
}

// behind is the condition that a row comes after the one with these values of the terms.
func behind(terms []term, values []any) filter.Cond {
	t, v, sign := terms[0], values[0], " > "
	if t.desc {
		sign = " < "
	}
	if len(terms) == 1 {
		return cond(t.expr+sign+"?", v)
	}
	rest := behind(terms[1:], values[1:])
	return cond(t.expr+strings.TrimRight(sign, " ")+"= ? AND ("+t.expr+sign+"? OR ("+rest.SQL+"))",
		append([]any{v, v}, rest.Args...)...)
}

// cursor returns the values of an operation's row; nil if it is not in the list.
func (x *Store) cursor(ctx context.Context, by order, terms []term, opid string) ([]any, error) {
	var what []string
	values := make([]any, len(terms))
	dest := make([]any, len(terms))
	for i, t := range terms {
		what, dest[i] = append(what, t.expr), &values[i]
	}
	from := "index_op o"
	if by.party != "" {
		from += " JOIN index_party p ON p.n = " + by.party
	}
	err := x.q.QueryRow(ctx, "SELECT "+strings.Join(what, ", ")+" FROM "+from+
		" WHERE o.scope = ? AND o.opid_fold = ? AND o.opid = ?", x.scope, filter.FoldID(opid), opid).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return values, err
}

// list is a filter and an order.
type list struct {
	*question
	by    order
	terms []term
}

func (x *Store) list(ctx context.Context, f filter.OperationExpr, s index.Sort, now time.Time) (list, error) {
	by, ok := orderOf(s.By())
	if !ok {
		return list{}, index.ErrSort
	}
	q, err := x.ask(ctx, f, now)
	return list{q, by, by.terms(s.Desc)}, err
}

// access is how rows are found in an order: with a filter all are checked, without one an index has them.
func (l list) access() string {
	if l.f.Empty() {
		return ""
	}
	return l.x.scan
}

// walk returns the numbers of rows.
func (l list) walk(ctx context.Context, skip, limit int) ([]int64, error) {
	access := l.access()
	if access != "" && l.by.key == columns[field.OpCreated] {
		access = l.x.newest // until there are enough
	}
	c := l.selects("o.n", access, l.by.party)
	return store.List(ctx, l.x.q, store.Value[int64], c.SQL+orderBy(l.terms)+" LIMIT ? OFFSET ?",
		append(c.Args, limit, skip)...)
}

// count counts the rows that fulfil more conditions.
func (l list) count(ctx context.Context, more ...filter.Cond) (n int64, err error) {
	c := l.selects("count(*)", l.access(), l.by.party, more...)
	err = l.x.q.QueryRow(ctx, c.SQL, c.Args...).Scan(&n)
	return n, err
}

// Window reads rows from one on.
func (x *Store) Window(ctx context.Context, q index.Query, now time.Time) (w index.Window, err error) {
	l, err := x.list(ctx, q.Filter, q.Sort, now)
	if err != nil {
		return w, err
	}
	ns, err := l.walk(ctx, q.Skip, q.Limit+1)
	if err != nil {
		return w, err
	}
	w.More = len(ns) > q.Limit
	w.Rows, err = x.records(ctx, ns[:min(len(ns), q.Limit)])
	return w, err
}

// Each calls fn for every row in order, from a list frozen before the first call.
func (x *Store) Each(ctx context.Context, f filter.OperationExpr, s index.Sort, now time.Time,
	fn func(total int, r index.Record) error) error {
	l, err := x.list(ctx, f, s, now)
	if err != nil {
		return err
	}
	ns, err := l.walk(ctx, 0, math.MaxInt32)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(ns, 400) {
		rows, err := x.records(ctx, part)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := fn(len(ns), r); err != nil {
				return err
			}
		}
	}
	return nil
}

// Count counts the rows that match the filter.
func (x *Store) Count(ctx context.Context, f filter.OperationExpr, now time.Time) (int64, error) {
	q, err := x.ask(ctx, f, now)
	if err != nil {
		return 0, err
	}
	return list{question: q}.count(ctx)
}

// countRows counts all rows.
func (x *Store) countRows(ctx context.Context) (int64, error) {
	return x.Count(ctx, filter.OperationExpr{}, time.Time{})
}

// Place returns the position of an operation in a list.
func (x *Store) Place(ctx context.Context, f filter.OperationExpr, s index.Sort, opid string,
	now time.Time) (index.Place, error) {
	var out index.Place
	r, err := x.Get(ctx, opid)
	if err != nil {
		return out, err
	}
	l, err := x.list(ctx, f, s, now)
	if err != nil {
		return out, err
	}
	if out.Total, err = x.Count(ctx, f, now); err != nil {
		return out, err
	}
	out.In = f.Match(r.Op, now)
	at, err := x.cursor(ctx, l.by, l.terms, opid)
	if err != nil || at == nil {
		return out, err
	}
	out.Before, err = l.count(ctx, behind(reversed(l.terms), at))
	return out, err
}
