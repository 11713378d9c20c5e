package opindex

import (
	"context"
	"strconv"
	"strings"
	"time"

	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/store"
)

// scanLimit is up to how many candidates are looked at one by one and sorted. More
// than these are found by walking in the order of the sort.
const scanLimit = 20_000

// opPlan is a filter made ready for the tables: which kinds can match, what is
// left to check, and where candidates come from when they are few.
type opPlan struct {
	x      *Store
	now    time.Time
	kinds  []kind // that match
	all    bool   // kinds are all there are
	rows   int64  // of kinds
	total  int64  // rows of the scope
	rest   filter.Cond
	pure   bool        // rest holds always
	driver filter.Cond // SELECT n …, when few; candidates that rest and kinds decide

	short  bool                      // driver is a list of at most listed numbers
	parts  filter.And                // what the kinds do not decide
	driven bool                      // driver has been chosen
	whole  bool                      // everything matches; kinds were not even read
	single filter.Cond               // rest, for rows that are looked at one by one
	restBy func(partyIs) filter.Cond // rest, with another condition on parties; nil: rest holds always
}

// plan makes a filter ready for questions about all its rows.
func (x *Store) plan(ctx context.Context, f filter.OperationExpr, now time.Time) (*opPlan, error) {
	p, err := x.outline(ctx, f, now)
	if err != nil {
		return nil, err
	}
	return p, p.drive(ctx)
}

// outline is a plan that has not looked for candidates: for the first rows of a
// list that may not need them.
func (x *Store) outline(ctx context.Context, f filter.OperationExpr, now time.Time) (*opPlan, error) {
	all, err := x.loadKinds(ctx)
	if err != nil {
		return nil, err
	}
	var kindParts, restParts filter.And
	for _, n := range f.Parts() {
		if kindOnly(f, n) {
			kindParts = append(kindParts, n)
		} else {
			restParts = append(restParts, n)
		}
	}
	p := &opPlan{x: x, now: now, pure: len(restParts) == 0, rest: filter.True}
	only := f.Of(kindParts)
	for _, k := range all {
		p.total += k.sum.ops
		if len(kindParts) > 0 && only.Match(*k.like, now) {
			p.kinds = append(p.kinds, k)
			p.rows += k.sum.ops
		}
	}
	if len(kindParts) == 0 {
		p.kinds, p.rows = all, p.total
	}
	p.all = len(p.kinds) == len(all)
	p.parts = restParts
	if len(p.kinds) == 0 || p.pure {
		return p, nil
	}
	p.restBy = func(party partyIs) filter.Cond {
		return filter.NodeSQL(restParts, func(l *filter.Leaf) filter.Cond { return x.leaf(l, f, all, now, party) })
	}
	p.rest, p.single = p.restBy(x.partyIn), p.restBy(x.partyOf)
	return p, nil
}

// drive looks for candidates, once.
func (p *opPlan) drive(ctx context.Context) error {
	if p.driven || p.whole || p.none() {
		return nil
	}
	p.driven = true
	return p.chooseDriver(ctx, p.parts)
}

// driveFew looks for candidates and reports whether it found few; if not, it has
// chosen nothing. Of a filter in several parts each lets more through than all, so
// that they are not asked one after the other.
func (p *opPlan) driveFew(ctx context.Context) (bool, error) {
	if len(p.parts) != 1 {
		return false, nil
	}
	d, ok := p.x.candidates(p.parts[0], p.now)
	if !ok {
		return false, nil
	}
	ns, err := p.firstOf(ctx, d)
	if err != nil || len(ns) > listed {
		return false, err
	}
	p.driver, p.short, p.driven = p.x.list(ns), true, true
	return true, nil
}

// firstOf gives as many candidates as are kept in a list, and one more.
func (p *opPlan) firstOf(ctx context.Context, d filter.Cond) ([]int64, error) {
	return p.numbers(ctx, "SELECT n FROM ("+d.SQL+") AS c LIMIT ?", append(append([]any{}, d.Args...), listed+1)...)
}

// none reports that nothing can match.
func (p *opPlan) none() bool { return len(p.kinds) == 0 && !p.whole }

// kindCond is the condition that the kinds put on a row.
func (p *opPlan) kindCond() filter.Cond {
	if p.all {
		return filter.True
	}
	return p.x.kindIn("o.kind", p.kinds)
}

func (x terms) kindIn(column string, kinds []kind) filter.Cond {
	if len(kinds) == 0 {
		return filter.False
	}
	ns := make([]int64, len(kinds))
	for i, k := range kinds {
		ns[i] = k.n
	}
	if len(ns) > manyKinds && x.postgres() { // a condition: IN (SELECT …) becomes a join, which loses the order of rows
		return cond(column+" = ANY (CAST(string_to_array(?, ',') AS BIGINT[]))", commas(ns))
	}
	if len(ns) > manyKinds {
		return cond(column+" IN (SELECT value FROM json_each(?))", "["+commas(ns)+"]")
	}
	c := cond(column + " IN (" + store.Marks(len(ns)) + ")")
	for _, n := range ns {
		c.Args = append(c.Args, n)
	}
	return c
}

// manyKinds is from where on the numbers go as one argument.
const manyKinds = 100

// where is the whole condition on a row o. Of few rows each is looked at alone:
// to search all parties would take longer.
func (p *opPlan) where(more ...filter.Cond) filter.Cond {
	rest := p.rest
	if p.short && p.single.SQL != "" {
		rest = p.single
	}
	parts := []filter.Cond{{SQL: "o.scope = ?", Args: []any{p.x.scope}}}
	for _, c := range append([]filter.Cond{p.kindCond(), rest}, more...) {
		if c.SQL != filter.True.SQL {
			parts = append(parts, c)
		}
	}
	return filter.All(parts...)
}

// with narrows the plan to some of its kinds.
func (p *opPlan) with(kinds []kind) *opPlan {
	q := *p
	q.kinds, q.all, q.rows = kinds, false, 0
	for _, k := range kinds {
		q.rows += k.sum.ops
	}
	return &q
}

// chooseDriver looks for the part of the filter that leaves fewest candidates.
func (p *opPlan) chooseDriver(ctx context.Context, parts filter.And) error {
	best := int64(scanLimit)
	if p.rows <= best && !p.all {
		best = p.rows
		in := p.x.kindIn("kind", p.kinds)
		p.driver = filter.Cond{SQL: "SELECT n FROM index_op WHERE " + in.SQL, Args: in.Args}
	}
	for _, n := range parts {
		d, ok := p.x.candidates(n, p.now)
		if !ok || best < 200 {
			continue
		}
		ns, err := p.firstOf(ctx, d)
		if err != nil {
			return err
		}
		if len(ns) <= listed {
			if int64(len(ns)) < best {
				best, p.driver, p.short = int64(len(ns)), p.x.list(ns), true
			}
			continue
		}
		var found int64
		if err := p.x.q.QueryRow(ctx, "SELECT count(*) FROM (SELECT n FROM ("+d.SQL+") AS c LIMIT ?) AS c2",
			append(append([]any{}, d.Args...), best)...).Scan(&found); err != nil {
			return err
		}
		if found < best {
			best, p.driver, p.short = found, d, false
		}
	}
	return nil
}

// listed is how many candidates are kept as they were found, so that they are
// searched once.
const listed = 5000

// list is a SELECT of these numbers.
func (x terms) list(ns []int64) filter.Cond {
	if x.postgres() {
		return cond("SELECT unnest(CAST(string_to_array(?, ',') AS BIGINT[])) AS n", commas(ns))
	}
	return cond("SELECT value AS n FROM json_each(?)", "["+commas(ns)+"]")
}

func commas(ns []int64) string {
	text := make([]string, len(ns))
	for i, n := range ns {
		text[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(text, ",")
}

// candidates is a SELECT of numbers that holds at least all rows that n lets
// through; ok is false when no index helps.
func (x terms) candidates(n filter.Node, now time.Time) (c filter.Cond, ok bool) {
	switch n := n.(type) {
	case filter.And:
		for _, part := range n {
			if c, ok := x.candidates(part, now); ok {
				return c, true
			}
		}
	case filter.Or:
		var all []filter.Cond
		for _, part := range n {
			c, ok := x.candidates(part, now)
			if !ok {
				return c, false
			}
			all = append(all, c)
		}
		return union(all...), true
	case *filter.Leaf:
		return x.leafCandidates(n, now)
	}
	return c, false
}

func union(parts ...filter.Cond) filter.Cond {
	var sql []string
	var args []any
	for _, p := range parts {
		sql = append(sql, p.SQL)
		args = append(args, p.Args...)
	}
	return filter.Cond{SQL: strings.Join(sql, " UNION ALL "), Args: args}
}

// ordered gives the column of a field that has an index of its own.
func ordered(name string) (column string, ok bool) {
	k, ok := columns[name]
	return strings.TrimPrefix(k.expr, "o."), ok && texts[name] == 0
}

// parties are the columns with a party that a field compares with. The field ""
// stands for words without a field.
var parties = map[string][]string{
	field.OpCustomer:    {"customer"},
	field.OpSource:      {"source"},
	field.OpDestination: {"destination"},
	filter.FieldParty:   {"source", "destination"},
	"":                  {"customer", "source", "destination"},
}

// texts are the fields with a column of that name that holds the text, and what the
// mask hides of them.
var texts = map[string]filter.MaskedText{field.OpReference: filter.MaskedReference,
	field.OpComment: filter.MaskedComment}

func (x terms) leafCandidates(l *filter.Leaf, now time.Time) (c filter.Cond, ok bool) {
	if column, ok := ordered(l.Field); ok {
		c := l.Column(x.engine, column, now)
		return filter.Cond{SQL: "SELECT n FROM index_op " + x.by(columns[l.Field].index) + "WHERE scope = ? AND (" + c.SQL +
			")", Args: append([]any{x.scope}, c.Args...)}, true
	}
	switch columns := parties[l.Field]; {
	case l.Field == "":
		words, ok := x.ofWords(l)
		id := filter.Cond{SQL: "SELECT n FROM index_op WHERE scope = ? AND opid_fold = ?",
			Args: []any{x.scope, filter.Fold(l.Values[0].Text)}}
		return union(words, x.ofParties(l, columns...), id), ok
	case len(columns) == 1:
		return x.ofParty(columns[0], l), true
	case len(columns) > 1:
		return x.ofParties(l, columns...), true
	case texts[l.Field] != 0, l.Field == filter.FieldDoc:
		return x.ofWords(l)
	}
	return c, false
}

// by forces an index in SQLite; PostgreSQL's planner has its statistics.
func (x terms) by(name string) string {
	switch {
	case x.postgres():
		return ""
	case name == "":
		return "NOT INDEXED "
	}
	return "INDEXED BY " + name + " "
}

// leaf is the exact condition of one comparison on a row o; party asks for the
// party in a column.
func (x terms) leaf(l *filter.Leaf, f filter.OperationExpr, all []kind, now time.Time, party partyIs) filter.Cond {
	if column, ok := ordered(l.Field); ok {
		return l.Column(x.engine, "o."+column, now)
	}
	text := func(column string) filter.Cond { return open(l, texts[column], l.Column(x.engine, "o."+column, now)) }
	var alts []filter.Cond
	for _, column := range parties[l.Field] {
		alts = append(alts, party(column, l))
	}
	switch {
	case l.Field == "":
		id := filter.Cond{SQL: "o.opid_fold = ?", Args: []any{filter.Fold(l.Values[0].Text)}}
		if l.Masks(l.Values[0]) {
			id = filter.False
		}
		alts = append([]filter.Cond{text(field.OpReference), text(field.OpComment), x.docCond(l, l.Values[0].Text), id},
			alts...)
	case texts[l.Field] != 0:
		return text(l.Field)
	case l.Field == filter.FieldDoc:
		for _, v := range l.Values {
			alts = append(alts, x.docCond(l, v.Text))
		}
	}
	if alts != nil {
		return filter.Any(alts...)
	}
	var match []kind
	only := f.Of(l)
	for _, k := range all {
		if only.Match(*k.like, now) {
			match = append(match, k)
		}
	}
	c := x.kindIn("o.kind", match)
	if l.Field != filter.FieldHas {
		return c
	}
	alts = []filter.Cond{c} // what the kind does not know of "has", the row does
	for _, v := range l.Values {
		if column := rowFlags[v.Text]; column != "" {
			alts = append(alts, filter.Cond{SQL: column})
		}
	}
	return filter.Any(alts...)
}

func (x terms) docCond(l *filter.Leaf, v string) filter.Cond {
	want := filter.Fold(v)
	if l.Op == filter.Eq {
		want = filter.Joined(v)
	}
	return open(l, filter.MaskedDocs, filter.Cond{SQL: x.engine.Instr + "(o.doc_text, ?) > 0", Args: []any{want}})
}

// open is c, for covered leaves only where the mask hides nothing in the text.
func open(l *filter.Leaf, text filter.MaskedText, c filter.Cond) filter.Cond {
	if !l.Masked {
		return c
	}
	return filter.All(filter.Cond{SQL: "(o.hidden & ?) = 0", Args: []any{int64(text)}}, c)
}
