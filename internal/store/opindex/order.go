package opindex

import (
	"context"
	"slices"
	"strings"
	"time"

	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
)

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
