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
// the next rows of those kinds. They are ordered again outside: a condition on parties may become a join, which keeps
// no order.
func (p *opPlan) probeNext(ctx context.Context, k column, desc bool, at *cursor, rows, limit int) ([]int64, error) {
	_, word := direction(desc)
	order := " ORDER BY " + k.expr + word + ", o.n" + word + " LIMIT ?"
	inner, outer := p.kindCond(), p.single
	if p.pure {
		inner, outer = filter.True, p.kindCond()
	}
	c := filter.All(filter.Cond{SQL: "o.scope = ?", Args: []any{p.x.scope}}, inner, k.behind(at, desc))
	return p.numbers(ctx, "SELECT o.n FROM (SELECT o.* FROM index_op o "+p.x.by(k.index)+"WHERE "+c.SQL+order+
		") AS o WHERE "+outer.SQL+order,
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

// cross joins index_op to the tables before it, in that order in SQLite.
func (x terms) cross(outer, on string) string {
	join := " CROSS JOIN "
	if x.postgres() {
		join = " JOIN "
	}
	return outer + join + "index_op o ON " + on + " "
}

// codes are orders by a word of the kind: the rows of one word after the other, each newest first.
var codes = map[string]func(kindKey) string{
	field.OpStatus:   func(k kindKey) string { return k.status },
	field.OpType:     func(k kindKey) string { return k.typ },
	field.OpPayment:  func(k kindKey) string { return k.payment },
	field.OpCurrency: func(k kindKey) string { return k.currency },
}

// byCode splits the plan by words, in order.
func (p *opPlan) byCode(get func(kindKey) string) (words []string, parts map[string]*opPlan) {
	kinds := map[string][]kind{}
	for _, k := range p.kinds {
		kinds[get(k.key)] = append(kinds[get(k.key)], k)
	}
	parts = map[string]*opPlan{}
	for w, list := range kinds {
		words = append(words, w)
		parts[w] = p.with(list)
	}
	slices.Sort(words)
	return words, parts
}

func (p *opPlan) walkCodes(ctx context.Context, get func(kindKey) string, desc bool, at *cursor, back bool,
	skip, limit int) ([]int64, error) {
	words, parts := p.byCode(get)
	if desc {
		slices.Reverse(words)
	}
	var out []int64
	for _, w := range words {
		var from *cursor
		if at != nil {
			order := strings.Compare(w, at.word)
			if order < 0 && !desc || order > 0 && desc {
				continue
			}
			if order == 0 {
				from = at
			}
		}
		ns, err := parts[w].walkColumn(ctx, columns[field.OpCreated], !back, from, 0, limit+skip-len(out))
		if err != nil {
			return nil, err
		}
		if out = append(out, ns...); len(out) >= limit+skip {
			break
		}
	}
	return out[min(skip, len(out)):], nil
}

// side is an order by the name of a customer or side, then by the party, then
// newest first (ascending).
type side struct{ column, index string }

var sides = map[string]side{
	field.OpCustomer:    {"o.customer", "index_op_customer"},
	field.OpSource:      {"o.source", "index_op_source"},
	field.OpDestination: {"o.destination", "index_op_destination"},
}

func (p *opPlan) walkParties(ctx context.Context, s side, desc bool, at *cursor, skip, limit int) ([]int64, error) {
	var out []int64
	if at != nil {
		_, inner := direction(!desc)
		q := p.query("o.n", s.index, s.same(at, desc))
		ns, err := p.numbers(ctx, q.SQL+" ORDER BY o.created_us"+inner+", o.n"+inner+" LIMIT ?",
			append(q.Args, limit+skip)...)
		if err != nil {
			return nil, err
		}
		if out = ns; len(out) >= limit+skip {
			return out[skip:], nil
		}
	}
	sql, args := p.partyJoin(s, "o.n", s.behind(at, desc, p.x.scope))
	_, outer := direction(desc)
	_, inner := direction(!desc)
	ns, err := p.numbers(ctx, sql+" ORDER BY p.sort"+outer+", p.n"+outer+", o.created_us"+inner+", o.n"+inner+" LIMIT ?",
		append(args, limit+skip-len(out))...)
	if err != nil {
		return nil, err
	}
	out = append(out, ns...)
	return out[min(skip, len(out)):], nil
}

// same is the condition of being after the cursor with the same party.
func (s side) same(at *cursor, desc bool) filter.Cond {
	sign, _ := direction(!desc)
	return filter.Cond{SQL: s.column + " = ? AND (o.created_us, o.n) " + sign + " (?, ?)",
		Args: []any{at.party, at.created, at.n}}
}

// behind is the condition of being after the cursor with another party.
func (s side) behind(at *cursor, desc bool, scope int64) filter.Cond {
	c := filter.Cond{SQL: "p.scope = ?", Args: []any{scope}}
	if at == nil {
		return c
	}
	sign, _ := direction(desc)
	return filter.All(c, filter.Cond{SQL: "(p.sort, p.n) " + sign + " (?, ?)", Args: []any{at.sort, at.party}})
}

func (p *opPlan) partyJoin(s side, what string, c filter.Cond) (sql string, args []any) {
	c = p.where(c)
	if p.driver.SQL != "" {
		return p.few() + "SELECT " + what + " FROM " + p.x.cross("d", "o.n = d.n") + "JOIN index_party p ON p.n = " +
				s.column + " WHERE " + c.SQL,
			append(slices.Clone(p.driver.Args), c.Args...)
	}
	join := " CROSS JOIN "
	if p.x.postgres() {
		join = " JOIN "
	}
	return "SELECT " + what + " FROM index_party p " + p.x.by("index_party_sort") + join + "index_op o " +
		p.x.by(s.index) + "ON " + s.column + " = p.n WHERE " + c.SQL, c.Args
}

// Place returns the position of an operation in a list.
func (x *Store) Place(ctx context.Context, f filter.OperationExpr, s index.Sort, opid string,
	now time.Time) (index.Place, error) {
	var out index.Place
	r, err := x.Get(ctx, opid)
	if err != nil {
		return out, err
	}
	p := everything(x, now)
	if listsAll(f, s) {
		out.Total, err = countRows(ctx, x)
	} else if p, err = x.plan(ctx, f, now); err == nil {
		out.Total, err = p.count(ctx)
	}
	if err != nil {
		return out, err
	}
	out.In = f.Match(r.Op, now)
	at, err := x.cursor(ctx, s.By(), opid)
	if err != nil || at == nil || p.none() {
		return out, err
	}
	out.Before, err = p.before(ctx, s, at)
	return out, err
}

func (p *opPlan) before(ctx context.Context, s index.Sort, at *cursor) (int64, error) {
	if k, ok := columns[s.By()]; ok {
		return p.countFrom(ctx, k.index, k.behind(at, !s.Desc))
	}
	if get, ok := codes[s.Field]; ok {
		words, parts := p.byCode(get)
		var sum int64
		for _, w := range words {
			var n int64
			var err error
			switch order := strings.Compare(w, at.word); {
			case order == 0:
				n, err = parts[w].countFrom(ctx, "index_op_created", columns[field.OpCreated].behind(at, false))
			case order < 0 != s.Desc:
				n, err = parts[w].count(ctx)
			}
			if err != nil {
				return 0, err
			}
			sum += n
		}
		return sum, nil
	}
	sd, ok := sides[s.Field]
	if !ok {
		return 0, index.ErrSort
	}
	same, err := p.countFrom(ctx, sd.index, sd.same(at, !s.Desc))
	if err != nil {
		return 0, err
	}
	sql, args := p.partyJoin(sd, "count(*)", sd.behind(at, !s.Desc, p.x.scope))
	var n int64
	err = p.x.q.QueryRow(ctx, sql, args...).Scan(&n)
	return same + n, err
}

// countFrom counts rows with one more condition, using an index.
func (p *opPlan) countFrom(ctx context.Context, ix string, c filter.Cond) (n int64, err error) {
	var q filter.Cond
	switch {
	case p.none():
		return 0, nil
	case p.driver.SQL == "" && p.pure && !p.all && ix == "index_op_created":
		c = filter.All(p.kindCond(), c)
		q = cond("SELECT count(*) FROM index_op o "+p.x.by("index_op_kind")+"WHERE "+c.SQL, c.Args...)
	default:
		q = p.query("count(*)", ix, c)
	}
	err = p.x.q.QueryRow(ctx, q.SQL, q.Args...).Scan(&n)
	return n, err
}

// sight converts a time of index_sight; the zero time for 0.
func sight(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return micros(us)
}

// manyUnseen is the limit of the count of rows that were never read.
const manyUnseen = 1000

// Sights summarises when rows were read.
func (x *Store) Sights(ctx context.Context) (index.Sights, error) {
	var s index.Sights
	var err error
	if s.Rows, err = countRows(ctx, x); err != nil {
		return s, err
	}
	var oldest, newest int64
	err = x.q.QueryRow(ctx, `SELECT
		COALESCE((SELECT MIN(seen_us) FROM index_sight WHERE scope = ? AND seen_us > 0), 0),
		COALESCE((SELECT MAX(seen_us) FROM index_sight WHERE scope = ?), 0),
		(SELECT count(*) FROM (SELECT 1 FROM index_sight WHERE scope = ? AND seen_us = 0 LIMIT ?) AS u),
		(SELECT count(*) FROM index_absent WHERE scope = ? AND gone_us > 0)`,
		x.scope, x.scope, x.scope, manyUnseen, x.scope).Scan(&oldest, &newest, &s.Unseen, &s.Gone)
	s.Oldest, s.Newest = sight(oldest), sight(newest)
	return s, err
}

// Candidates lists rows that no request since t has shown.
func (x *Store) Candidates(ctx context.Context, t time.Time, limit int) ([]string, error) {
	us := t.UnixMicro()
	return store.List(ctx, x.q, store.Value[string], `SELECT o.opid
		FROM index_sight s JOIN index_op o ON o.n = s.n WHERE s.scope = ? AND s.seen_us < ? AND s.asked_us < ?
		ORDER BY s.seen_us LIMIT ?`, x.scope, us, us, limit)
}

// ForgetSights clears the times of all reads.
func (x *Store) ForgetSights(ctx context.Context) error {
	return x.db.Exec(ctx, "UPDATE index_sight SET seen_us = 0, asked_us = 0 WHERE scope = ?", x.scope)
}

// gone returns an operation that left the list.
func (x *Store) gone(ctx context.Context, opid string) (index.Record, error) {
	var at, seen, changed int64
	var r index.Record
	var body []byte
	err := x.q.QueryRow(ctx,
		"SELECT gone_us, seen_us, changed_us, origin, body FROM index_absent WHERE scope = ? AND opid = ? AND gone_us > 0",
		x.scope, opid).
		Scan(&at, &seen, &changed, &r.Origin, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return r, index.ErrNone
	}
	if err != nil {
		return r, err
	}
	if r.Op, err = decodeOp(body); err == nil {
		err = x.name(ctx, &r.Op)
	}
	r.Seen, r.Changed, r.Gone = sight(seen), micros(changed), micros(at)
	return r, err
}

// Reset deletes all rows of the scope. The history remains.
func (x *Store) Reset(ctx context.Context, facts ...string) error {
	return x.db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, writeLock); err != nil {
			return err
		}
		ours := "(SELECT n FROM index_op WHERE scope = ?)"
		drop := []string{"DELETE FROM index_raw WHERE n IN " + ours}
		if !x.postgres() {
			drop = append(drop, "DELETE FROM index_words WHERE rowid IN "+ours)
		}
		drop = append(drop, "DELETE FROM index_op WHERE scope = ?", "DELETE FROM index_absent WHERE scope = ?",
			"DELETE FROM index_sum WHERE scope = ?",
			"UPDATE index_kind SET ops = 0, hi = 0, lo = 0, nanos = 0 WHERE scope = ?")
		for _, query := range drop {
			if err := tx.Exec(ctx, query, x.scope); err != nil {
				return err
			}
		}
		for _, name := range facts {
			if err := tx.Exec(ctx, "DELETE FROM index_meta WHERE scope = ? AND name = ?", x.scope, name); err != nil {
				return err
			}
		}
		return x.bump(ctx, tx)
	})
}
