package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
)

// Get returns one operation, index.ErrNone when there is none.
func (x *OperationIndex) Get(ctx context.Context, opid string) (index.Record, error) {
	var n int64
	err := x.q.QueryRow(ctx, "SELECT n FROM index_op WHERE scope = ? AND opid_fold = ? AND opid = ?", x.scope, filter.Fold(opid), opid).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return x.gone(ctx, opid)
	}
	if err != nil {
		return index.Record{}, err
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

// records reads operations by number, in that order; ones that are gone are left out.
func (x *OperationIndex) records(ctx context.Context, ns []int64) ([]index.Record, error) {
	found := map[int64]index.Record{}
	err := chunks(ns, 400, func(part []int64) error {
		q, err := x.q.Query(ctx, `SELECT o.n, o.origin, s.seen_us, o.changed_us, o.doubt, r.body
			FROM index_op o JOIN index_sight s ON s.n = o.n JOIN index_raw r ON r.n = o.n WHERE o.n IN (`+marks(len(part))+`)`, anys(part)...)
		if err != nil {
			return err
		}
		defer q.Close()
		for q.Next() {
			var n, seen, changed, doubt int64
			var r index.Record
			var body []byte
			if err := q.Scan(&n, &r.Origin, &seen, &changed, &doubt, &body); err != nil {
				return err
			}
			if r.Op, err = decodeOp(body); err != nil {
				return err
			}
			r.Seen, r.Changed, r.Owed = sight(seen), micros(changed), doubt > 0
			found[n] = r
		}
		return q.Err()
	})
	if err != nil {
		return nil, err
	}
	out := make([]index.Record, 0, len(ns))
	for _, n := range ns {
		if r, ok := found[n]; ok {
			out = append(out, r)
		}
	}
	return out, nil
}

// cursor is a row's place in every order.
type cursor struct {
	n                                         int64
	kind, customer, source, dest              int64
	created, updated, docs                    int64
	amount, received, fee, idFold, ref, opid  string
	status, typ, payment, currency            string
	customerSort, sourceSort, destinationSort string
}

func (x *OperationIndex) cursor(ctx context.Context, opid string) (*cursor, error) {
	var c cursor
	err := x.q.QueryRow(ctx, `SELECT o.n, o.kind, o.customer, o.source, o.destination, o.created_us, o.updated_us, o.docs,
		o.amount_key, o.received_key, o.fee_key, o.opid_fold, substr(o.reference, 1, 100), o.opid, k.status, k.type, k.payment, k.currency, c.sort, s.sort, d.sort
		FROM index_op o JOIN index_kind k ON k.n = o.kind JOIN index_party c ON c.n = o.customer JOIN index_party s ON s.n = o.source JOIN index_party d ON d.n = o.destination
		WHERE o.scope = ? AND o.opid_fold = ? AND o.opid = ?`, x.scope, filter.Fold(opid), opid).Scan(
		&c.n, &c.kind, &c.customer, &c.source, &c.dest, &c.created, &c.updated, &c.docs,
		&c.amount, &c.received, &c.fee, &c.idFold, &c.ref, &c.opid, &c.status, &c.typ, &c.payment, &c.currency, &c.customerSort, &c.sourceSort, &c.destinationSort)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &c, err
}

// walk gives the numbers of rows behind a cursor (nil: from the beginning), in
// order or against it.
func (p *opPlan) walk(ctx context.Context, s index.Sort, at *cursor, back bool, skip, limit int) ([]int64, error) {
	if p.none() || limit <= 0 {
		return nil, nil
	}
	key, ok := columns[s.Field]
	if ok {
		if ns, found, err := p.nearby(ctx, key, s.Desc != back, at, skip, limit); found || err != nil {
			return ns, err
		}
	}
	if err := p.drive(ctx); err != nil {
		return nil, err
	}
	if ok {
		return p.walkColumn(ctx, key, s.Desc != back, at, skip, limit)
	}
	if get, ok := codes[s.Field]; ok {
		return p.walkCodes(ctx, get, s.Desc != back, at, back, skip, limit)
	}
	if side, ok := sides[s.Field]; ok {
		return p.walkParties(ctx, side, s.Desc != back, at, skip, limit)
	}
	return nil, index.ErrSort
}

// column is an order by a column of index_op, then by number.
type column struct {
	expr, index string
	of          func(*cursor) any
}

var columns = map[string]column{
	"created":    {"o.created_us", "index_op_created", func(c *cursor) any { return c.created }},
	"updated":    {"o.updated_us", "index_op_updated", func(c *cursor) any { return c.updated }},
	"amount":     {"o.amount_key", "index_op_amount", func(c *cursor) any { return c.amount }},
	"received":   {"o.received_key", "index_op_received", func(c *cursor) any { return c.received }},
	"commission": {"o.fee_key", "index_op_fee", func(c *cursor) any { return c.fee }},
	"id":         {"o.opid_fold", "index_op_id", func(c *cursor) any { return c.idFold }},
	"reference":  {"substr(o.reference, 1, 100)", "index_op_reference", func(c *cursor) any { return c.ref }},
	"documents":  {"o.docs", "index_op_docs", func(c *cursor) any { return c.docs }},
}

func direction(desc bool) (sign, word string) {
	if desc {
		return "<", " DESC"
	}
	return ">", ""
}

// behind is the condition of standing behind the cursor.
func (k column) behind(at *cursor, desc bool) filter.Cond {
	if at == nil {
		return filter.True
	}
	sign, _ := direction(desc)
	return filter.Cond{SQL: "(" + k.expr + ", o.n) " + sign + " (?, ?)", Args: []any{k.of(at), at.n}}
}

func (p *opPlan) walkColumn(ctx context.Context, k column, desc bool, at *cursor, skip, limit int) ([]int64, error) {
	_, word := direction(desc)
	order := " ORDER BY " + k.expr + word + ", o.n" + word + " LIMIT ? OFFSET ?"
	c := p.where(k.behind(at, desc))
	if p.driver.SQL == "" && k.index == "index_op_created" && !p.all && p.rows < p.total/4 && len(p.kinds)*(len(p.rest.Args)+5) <= mergeArgs {
		return p.mergeKinds(ctx, k, desc, at, skip, limit)
	}
	from := p.from(k.index)
	return p.numbers(ctx, from.SQL+"WHERE "+c.SQL+order, append(append(from.Args, c.Args...), limit, skip)...)
}

// near is how many rows are looked at one by one before candidates are searched;
// nearer is how many more when the first ones show that these will be enough, and
// candidates are not few.
const (
	near   = 2000
	nearer = 8 * near
)

// nearby looks for the rows among the next few of the list: what many rows match
// is found at once, however long the search for all that match would take.
// found is false when there are not enough, and once candidates are known.
func (p *opPlan) nearby(ctx context.Context, k column, desc bool, at *cursor, skip, limit int) (ns []int64, found bool, err error) {
	if p.all && p.pure || p.driven || skip > 0 || limit > near/4 {
		return nil, false, nil
	}
	if p.pure { // how many of the rows match is known
		rows := limit * int(p.total/max(p.rows, 1)+1) * 3 / 2
		if rows > nearer {
			return nil, false, nil
		}
		ns, err = p.among(ctx, k, desc, at, rows, limit)
		return ns, len(ns) == limit, err
	}
	ns, err = p.among(ctx, k, desc, at, near, limit)
	if err != nil || len(ns) == limit || len(ns) == 0 {
		return ns, len(ns) == limit, err
	}
	enough := near * limit / len(ns) * 3 / 2
	if enough > nearer {
		return ns, false, nil
	}
	if few, err := p.driveFew(ctx); few || err != nil {
		return nil, false, err
	}
	ns, err = p.among(ctx, k, desc, at, enough, limit)
	return ns, len(ns) == limit, err
}

// among gives the first matching rows among the next so many of the list; where
// anything but the kind decides, among the next of those kinds.
func (p *opPlan) among(ctx context.Context, k column, desc bool, at *cursor, rows, limit int) ([]int64, error) {
	_, word := direction(desc)
	order := " ORDER BY " + k.expr + word + ", o.n" + word + " LIMIT ?"
	inner, outer := p.kindCond(), p.single
	if p.pure {
		inner, outer = filter.True, p.kindCond()
	}
	c := filter.All(filter.Cond{SQL: "o.scope = ?", Args: []any{p.x.scope}}, inner, k.behind(at, desc))
	return p.numbers(ctx, "SELECT o.n FROM (SELECT o.* FROM index_op o "+p.x.by(k.index)+"WHERE "+c.SQL+order+") AS o WHERE "+outer.SQL+" LIMIT ?",
		append(append(append(c.Args, rows), outer.Args...), limit)...)
}

// from is "SELECT o.n FROM" with the few candidates, or with the index walked.
func (p *opPlan) from(index string) filter.Cond {
	d := p.source(index)
	if p.driver.SQL == "" {
		return filter.Cond{SQL: "SELECT o.n FROM " + d.SQL}
	}
	return filter.Cond{SQL: p.few() + "SELECT o.n FROM " + d.SQL, Args: slices.Clone(p.driver.Args)}
}

func (p *opPlan) few() string {
	return "WITH d (n) AS MATERIALIZED (SELECT DISTINCT n FROM (" + p.driver.SQL + ") AS c) "
}

func (p *opPlan) source(index string) filter.Cond {
	if p.driver.SQL == "" {
		return filter.Cond{SQL: "index_op o " + p.x.by(index)}
	}
	return filter.Cond{SQL: p.x.cross("d", "o.n = d.n")}
}

// mergeArgs bounds the arguments of a merged query (SQLite takes 32,766).
const mergeArgs = 2000

// mergeKinds takes the first rows of every kind, each from its own index range.
// Parties are searched once for all kinds.
func (p *opPlan) mergeKinds(ctx context.Context, k column, desc bool, at *cursor, skip, limit int) ([]int64, error) {
	_, word := direction(desc)
	lists := partyLists{x: p.x, at: map[*filter.Leaf]int{}}
	rest := p.rest
	if p.restBy != nil {
		rest = p.restBy(lists.in)
	}
	var parts []filter.Cond
	for _, kd := range p.kinds {
		c := filter.All(filter.Cond{SQL: "o.kind = ?", Args: []any{kd.n}}, k.behind(at, desc), rest)
		parts = append(parts, filter.Cond{SQL: "SELECT * FROM (SELECT o.n AS n, o.created_us AS t FROM index_op o " + p.x.by("index_op_kind") + "WHERE " + c.SQL +
			" ORDER BY o.created_us" + word + ", o.n" + word + " LIMIT ?) AS m", Args: append(c.Args, limit+skip)})
	}
	head, u := lists.with(), union(parts...)
	return p.numbers(ctx, head.SQL+"SELECT n FROM ("+u.SQL+") AS u ORDER BY t"+word+", n"+word+" LIMIT ? OFFSET ?",
		append(append(head.Args, u.Args...), limit, skip)...)
}

func (p *opPlan) numbers(ctx context.Context, query string, args ...any) ([]int64, error) {
	q, err := p.x.q.Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	defer q.Close()
	var out []int64
	for q.Next() {
		var n int64
		if err := q.Scan(&n); err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, q.Err()
}

// Window reads the rows around a place in the list.
func (x *OperationIndex) Window(ctx context.Context, q index.Query, now time.Time) (index.Window, error) {
	w := index.Window{AnchorAt: -1}
	if q.Sort.Field == "" {
		q.Sort.Field = "created"
	}
	p := &opPlan{x: x, now: now, all: true, pure: true, rest: filter.True, whole: true}
	var err error
	if _, plain := columns[q.Sort.Field]; !plain || !q.Filter.Empty() {
		if p, err = x.outline(ctx, q.Filter, now); err != nil {
			return w, err
		}
	}
	var at *cursor
	if q.Anchor != "" {
		if at, err = x.cursor(ctx, q.Anchor); err != nil {
			return w, err
		}
	}
	var before []int64
	if at != nil || q.FromEnd {
		if before, err = p.walk(ctx, q.Sort, at, true, 0, q.Before); err != nil {
			return w, err
		}
		slices.Reverse(before)
	}
	ns := before
	if at != nil {
		ns = append(ns, at.n)
	}
	if at != nil || !q.FromEnd {
		after, err := p.walk(ctx, q.Sort, at, false, q.Skip, q.After+1)
		if err != nil {
			return w, err
		}
		w.More = len(after) > q.After
		ns = append(ns, after[:min(len(after), q.After)]...)
	}
	if w.Rows, err = x.records(ctx, ns); err != nil || at == nil {
		return w, err
	}
	w.AnchorAt = slices.IndexFunc(w.Rows, func(r index.Record) bool { return string(r.Op.OPID) == at.opid })
	if w.AnchorAt >= 0 && !q.Filter.Match(w.Rows[w.AnchorAt].Op, now) {
		w.Rows = slices.Delete(w.Rows, w.AnchorAt, w.AnchorAt+1)
		w.AnchorAt = -1
	}
	return w, nil
}

// Each calls fn for every row in order, from a list frozen before the first call.
func (x *OperationIndex) Each(ctx context.Context, f filter.OperationExpr, s index.Sort, now time.Time, fn func(total int, r index.Record) error) error {
	ns, err := x.frozen(ctx, f, s, math.MaxInt32, now)
	if err != nil {
		return err
	}
	return chunks(ns, 400, func(part []int64) error {
		rows, err := x.records(ctx, part)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := fn(len(ns), r); err != nil {
				return err
			}
		}
		return nil
	})
}

// Targets is the identifiers of such a list, at most limit.
func (x *OperationIndex) Targets(ctx context.Context, f filter.OperationExpr, s index.Sort, limit int, now time.Time) ([]string, error) {
	ns, err := x.frozen(ctx, f, s, limit, now)
	if err != nil {
		return nil, err
	}
	var out []string
	err = chunks(ns, 400, func(part []int64) error {
		rows, err := x.records(ctx, part)
		for _, r := range rows {
			out = append(out, string(r.Op.OPID))
		}
		return err
	})
	return out, err
}

func (x *OperationIndex) frozen(ctx context.Context, f filter.OperationExpr, s index.Sort, limit int, now time.Time) ([]int64, error) {
	p, err := x.plan(ctx, f, now)
	if err != nil {
		return nil, err
	}
	if s.Field == "" {
		s.Field = "created"
	}
	return p.walk(ctx, s, nil, false, 0, limit)
}
