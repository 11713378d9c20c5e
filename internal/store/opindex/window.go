package opindex

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
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
	list, err := x.records(ctx, []int64{n}, x.decoded.operation)
	if err == nil && len(list) == 0 {
		err = index.ErrNone
	}
	if err != nil {
		return index.Record{}, err
	}
	return list[0], nil
}

// decodeOnly decodes a row of a list that nobody keeps.
func decodeOnly(_ int64, body []byte) (api.Operation, error) { return decodeOp(body) }

// records reads operations by number, in that order, without missing ones.
func (x *Store) records(ctx context.Context, ns []int64,
	decode func(n int64, body []byte) (api.Operation, error)) ([]index.Record, error) {
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
		r.Op, err = decode(n, body)
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

// cursor is the position of a row in one order.
type cursor struct {
	opid       string
	n, created int64
	value      any    // of the column; created, in an order by code
	word       string // of the kind, in an order by code
	sort       string // of the party, in an order by side
	party      int64
}

// cursor returns the position of an operation in the order by a field; nil if there is no such operation.
func (x *Store) cursor(ctx context.Context, by, opid string) (*cursor, error) {
	c := cursor{opid: opid}
	what, join, dest := "NULL", "", []any{&c.n, &c.created, &c.value}
	if k, ok := columns[by]; ok {
		what = k.expr
	} else if _, ok := codes[by]; ok {
		what, join, dest[2] = "k."+by, "JOIN index_kind k ON k.n = o.kind ", &c.word
	} else if s, ok := sides[by]; ok {
		what, join, dest[2] = "p.sort, p.n", "JOIN index_party p ON p.n = "+s.column+" ", &c.sort
		dest = append(dest, &c.party)
	}
	err := x.q.QueryRow(ctx,
		"SELECT o.n, o.created_us, "+what+" FROM index_op o "+join+"WHERE o.scope = ? AND o.opid_fold = ? AND o.opid = ?",
		x.scope, filter.FoldID(opid), opid).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if _, ok := codes[by]; ok {
		c.value = c.created // rows of one code are sorted by it
	}
	return &c, err
}

// walk returns the numbers of rows after a cursor (nil: from the start), in order or in reverse.
func (p *opPlan) walk(ctx context.Context, s index.Sort, at *cursor, back bool, skip, limit int) ([]int64, error) {
	if p.none() || limit <= 0 {
		return nil, nil
	}
	key, ok := columns[s.Field]
	if ok {
		if ns, found, err := p.probe(ctx, key, s.Desc != back, at, skip, limit); found || err != nil {
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

func direction(desc bool) (sign, word string) {
	if desc {
		return "<", " DESC"
	}
	return ">", ""
}

// behind is the condition of being after the cursor.
func (k column) behind(at *cursor, desc bool) filter.Cond {
	if at == nil {
		return filter.True
	}
	sign, _ := direction(desc)
	return filter.Cond{SQL: "(" + k.expr + ", o.n) " + sign + " (?, ?)", Args: []any{at.value, at.n}}
}

func (p *opPlan) walkColumn(ctx context.Context, k column, desc bool, at *cursor, skip, limit int) ([]int64, error) {
	_, word := direction(desc)
	order := " ORDER BY " + k.expr + word + ", o.n" + word + " LIMIT ? OFFSET ?"
	if p.driver.SQL == "" && k.index == "index_op_created" && !p.all && p.rows < p.total/4 &&
		len(p.kinds)*(len(p.rest.Args)+5) <= mergeArgs {
		return p.mergeKinds(ctx, k, desc, at, skip, limit)
	}
	q := p.query("o.n", k.index, k.behind(at, desc))
	return p.numbers(ctx, q.SQL+order, append(q.Args, limit, skip)...)
}

// probeRows is how many rows are checked one by one before candidates are searched; probeMax is how many more if the
// first ones show that these will suffice and candidates are not few.
const (
	probeRows = 2000
	probeMax  = 8 * probeRows
)

// probe searches the next few rows of the list: a common match is found at once, however long a search for all
// matches would take. found is false if there are not enough, and once candidates are known.
func (p *opPlan) probe(ctx context.Context, k column, desc bool, at *cursor,
	skip, limit int) (ns []int64, found bool, err error) {
	if p.all && p.pure || p.driven || skip > 0 || limit > probeRows/4 {
		return nil, false, nil
	}
	if p.pure { // the number of matching rows is known
		rows := limit * int(p.total/max(p.rows, 1)+1) * 3 / 2
		if rows > probeMax {
			return nil, false, nil
		}
		ns, err = p.probeNext(ctx, k, desc, at, rows, limit)
		return ns, len(ns) == limit, err
	}
	ns, err = p.probeNext(ctx, k, desc, at, probeRows, limit)
	if err != nil || len(ns) == limit || len(ns) == 0 {
		return ns, len(ns) == limit, err
	}
	enough := probeRows * limit / len(ns) * 3 / 2
	if enough > probeMax {
		return ns, false, nil
	}
	if few, err := p.driveFew(ctx); few || err != nil {
		return nil, false, err
	}
	ns, err = p.probeNext(ctx, k, desc, at, enough, limit)
	return ns, len(ns) == limit, err
}

// probeNext returns the first matching rows among the next rows of the list; if anything but the kind decides, among
// the next rows of those kinds.
func (p *opPlan) probeNext(ctx context.Context, k column, desc bool, at *cursor, rows, limit int) ([]int64, error) {
	_, word := direction(desc)
	order := " ORDER BY " + k.expr + word + ", o.n" + word + " LIMIT ?"
	inner, outer := p.kindCond(), p.single
	if p.pure {
		inner, outer = filter.True, p.kindCond()
	}
	c := filter.All(filter.Cond{SQL: "o.scope = ?", Args: []any{p.x.scope}}, inner, k.behind(at, desc))
	return p.numbers(ctx, "SELECT o.n FROM (SELECT o.* FROM index_op o "+p.x.by(k.index)+"WHERE "+c.SQL+order+
		") AS o WHERE "+outer.SQL+" LIMIT ?",
		append(append(append(c.Args, rows), outer.Args...), limit)...)
}

// query selects from the rows of the plan that fulfil more conditions: among the few candidates, or by the named
// index.
func (p *opPlan) query(what, index string, more ...filter.Cond) filter.Cond {
	return p.queryWhere(what, index, p.where(more...))
}

func (p *opPlan) queryWhere(what, index string, c filter.Cond) filter.Cond {
	if p.driver.SQL == "" {
		return cond("SELECT "+what+" FROM index_op o "+p.x.by(index)+"WHERE "+c.SQL, c.Args...)
	}
	return cond(p.few()+"SELECT "+what+" FROM "+p.x.cross("d", "o.n = d.n")+"WHERE "+c.SQL,
		append(slices.Clone(p.driver.Args), c.Args...)...)
}

func cond(sql string, args ...any) filter.Cond { return filter.Cond{SQL: sql, Args: args} }

func (p *opPlan) few() string {
	return "WITH d (n) AS MATERIALIZED (SELECT DISTINCT n FROM (" + p.driver.SQL + ") AS c) "
}

// mergeArgs bounds the arguments of a merged query (SQLite takes 32,766).
const mergeArgs = 2000

// mergeKinds returns the first rows of every kind, each from its own index range, merged. It searches parties once
// for all kinds.
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
		parts = append(parts,
			filter.Cond{SQL: "SELECT * FROM (SELECT o.n AS n, o.created_us AS t FROM index_op o " + p.x.by("index_op_kind") +
				"WHERE " + c.SQL + " ORDER BY o.created_us" + word + ", o.n" + word + " LIMIT ?) AS m",
				Args: append(c.Args, limit+skip)})
	}
	head, u := lists.with(), union(parts...)
	return p.numbers(ctx, head.SQL+"SELECT n FROM ("+u.SQL+") AS u ORDER BY t"+word+", n"+word+" LIMIT ? OFFSET ?",
		append(append(head.Args, u.Args...), limit, skip)...)
}

func (p *opPlan) numbers(ctx context.Context, query string, args ...any) ([]int64, error) {
	return store.List(ctx, p.x.q, store.Value[int64], query, args...)
}

// Window reads the rows around a position in the list.
func (x *Store) Window(ctx context.Context, q index.Query, now time.Time) (index.Window, error) {
	w := index.Window{AnchorAt: -1}
	q.Sort.Field = q.Sort.By()
	p := everything(x, now)
	var err error
	if !listsAll(q.Filter, q.Sort) {
		if p, err = x.outline(ctx, q.Filter, now); err != nil {
			return w, err
		}
	}
	var at *cursor
	if q.Anchor != "" {
		if at, err = x.cursor(ctx, q.Sort.Field, q.Anchor); err != nil {
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
	if w.Rows, err = x.records(ctx, ns, x.decoded.operation); err != nil || at == nil {
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
func (x *Store) Each(ctx context.Context, f filter.OperationExpr, s index.Sort, now time.Time,
	fn func(total int, r index.Record) error) error {
	p, err := x.plan(ctx, f, now)
	if err != nil {
		return err
	}
	s.Field = s.By()
	ns, err := p.walk(ctx, s, nil, false, 0, math.MaxInt32)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(ns, 400) {
		rows, err := x.records(ctx, part, decodeOnly)
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
