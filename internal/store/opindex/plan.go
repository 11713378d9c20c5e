package opindex

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"opdeck/api/redact"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/store"
)

// scanLimit is the number of candidates up to which they are checked one by one and sorted. More are found by
// scanning in sort order.
const scanLimit = 20_000

// opPlan is a filter prepared for the tables: which kinds can match, what is left to check, and where candidates come
// from if they are few.
type opPlan struct {
	x      *Store
	now    time.Time
	kinds  []kind // the matching ones
	all    bool   // kinds has all kinds
	rows   int64  // of kinds
	total  int64  // rows of the scope
	rest   filter.Cond
	pure   bool        // rest always holds
	driver filter.Cond // SELECT n … if they are few: candidates for rest and kinds

	short  bool                      // driver is a list of at most listed numbers
	parts  filter.And                // what the kinds do not decide
	is     kindTerms                 // what the kinds decide
	driven bool                      // driver has been chosen
	whole  bool                      // everything matches; kinds were not even read
	single filter.Cond               // rest, for rows that are checked one by one
	restBy func(partyIs) filter.Cond // rest, with another condition on parties; nil: always holds
}

// plan prepares a filter for queries about all its rows.
func (x *Store) plan(ctx context.Context, f filter.OperationExpr, now time.Time) (*opPlan, error) {
	p, err := x.outline(ctx, f, now)
	if err != nil {
		return nil, err
	}
	return p, p.drive(ctx)
}

// everything is a plan of all rows in an order by a column, which needs no kinds; rows and total are 0.
func everything(x *Store, now time.Time) *opPlan {
	return &opPlan{x: x, now: now, all: true, pure: true, rest: filter.True, whole: true}
}

// listsAll reports whether everything is the plan of a list.
func listsAll(f filter.OperationExpr, s index.Sort) bool {
	_, column := columns[s.By()]
	return column && f.Empty()
}

// outline is a plan without candidates, for the first rows of a list, which may not need them.
func (x *Store) outline(ctx context.Context, f filter.OperationExpr, now time.Time) (*opPlan, error) {
	all, err := x.loadKinds(ctx)
	if err != nil {
		return nil, err
	}
	f = f.Exact()
	var kindParts, restParts filter.And
	for _, n := range f.Parts() {
		if kindOnly(f, n) {
			kindParts = append(kindParts, n)
		} else {
			restParts = append(restParts, n)
		}
	}
	is := kindTerms{f: f, all: all, now: now}
	restParts, none := is.prune(restParts)
	p := &opPlan{x: x, now: now, pure: len(restParts) == 0, rest: filter.True, is: is}
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
	if none {
		p.kinds, p.rows, p.pure = nil, 0, true
	}
	p.all = len(p.kinds) == len(all)
	p.parts = restParts
	if len(p.kinds) == 0 || p.pure {
		return p, nil
	}
	p.restBy = func(party partyIs) filter.Cond {
		return filter.NodeSQL(restParts, func(l *filter.Leaf) filter.Cond { return x.leaf(l, is, party) })
	}
	p.rest, p.single = p.restBy(x.partyIn), p.restBy(x.partyOf)
	return p, nil
}

// drive searches for candidates, once.
func (p *opPlan) drive(ctx context.Context) error {
	if p.driven || p.whole || p.none() {
		return nil
	}
	p.driven = true
	return p.chooseDriver(ctx, p.parts)
}

// driveFew searches for candidates and reports whether there are few; if not, it chooses nothing. Each part of a
// filter with several parts matches more rows than the whole, so the parts are not tried one by one.
func (p *opPlan) driveFew(ctx context.Context) (bool, error) {
	if len(p.parts) != 1 {
		return false, nil
	}
	d, ok := p.candidates(p.parts[0])
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

// firstOf returns at most one more candidate than fit a list.
func (p *opPlan) firstOf(ctx context.Context, d filter.Cond) ([]int64, error) {
	return p.numbers(ctx, "SELECT n FROM ("+d.SQL+") AS c LIMIT ?", append(append([]any{}, d.Args...), listed+1)...)
}

// none reports whether nothing can match.
func (p *opPlan) none() bool { return len(p.kinds) == 0 && !p.whole }

// kindCond is the condition of the kinds on a row.
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
	if len(ns) > manyKinds && x.postgres() { // as a condition: IN (SELECT …) becomes a join, which loses the order
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

// manyKinds is the number from which kinds are passed as one argument.
const manyKinds = 100

// where is the complete condition on a row o. For few rows each is checked alone, since a search of all parties would
// take longer.
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

// with restricts the plan to some of its kinds.
func (p *opPlan) with(kinds []kind) *opPlan {
	q := *p
	q.kinds, q.all, q.rows = kinds, false, 0
	for _, k := range kinds {
		q.rows += k.sum.ops
	}
	return &q
}

// chooseDriver finds the part of the filter with the fewest candidates.
func (p *opPlan) chooseDriver(ctx context.Context, parts filter.And) error {
	best := int64(scanLimit)
	if p.rows <= best && !p.all {
		best = p.rows
		in := p.x.kindIn("kind", p.kinds)
		p.driver = filter.Cond{SQL: "SELECT n FROM index_op WHERE " + in.SQL, Args: in.Args}
	}
	for _, n := range parts {
		d, ok := p.candidates(n)
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

// listed bounds the candidates that are kept as a list, so that they are searched once.
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

// candidates is a SELECT of numbers that includes all rows that match n; ok is false if no index helps.
func (p *opPlan) candidates(n filter.Node) (c filter.Cond, ok bool) {
	switch n := n.(type) {
	case filter.And:
		for _, part := range n {
			if c, ok := p.candidates(part); ok {
				return c, true
			}
		}
	case filter.Or:
		var all []filter.Cond
		for _, part := range n {
			c, ok := p.candidates(part)
			if !ok {
				return c, false
			}
			all = append(all, c)
		}
		return union(all...), true
	case *filter.Leaf:
		if kindLeaf(n) {
			return p.ofKinds(n)
		}
		return p.x.leafCandidates(n, p.now)
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

// ordered returns the column of a field with its own index.
func ordered(name string) (column string, ok bool) {
	k, ok := columns[name]
	return strings.TrimPrefix(k.expr, "o."), ok && texts[name] == 0
}

// parties maps a field to the columns with a party that it compares with. The field "" is for words without a field.
var parties = map[string][]string{
	field.OpCustomer:    {"customer"},
	field.OpSource:      {"source"},
	field.OpDestination: {"destination"},
	filter.FieldParty:   {"source", "destination"},
	"":                  {"customer", "source", "destination"},
}

// texts maps fields to the column of that name with the text, and to the masking that hides it.
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
			Args: []any{x.scope, filter.FoldID(l.Values[0].Text)}}
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

// by forces an index in SQLite; PostgreSQL's planner uses its statistics.
func (x terms) by(name string) string {
	switch {
	case x.postgres():
		return ""
	case name == "":
		return "NOT INDEXED "
	}
	return "INDEXED BY " + name + " "
}

// leaf is the exact condition of one comparison on a row o; party makes the condition on a party column.
func (x terms) leaf(l *filter.Leaf, is kindTerms, party partyIs) filter.Cond {
	if column, ok := ordered(l.Field); ok {
		return l.Column(x.engine, "o."+column, is.now)
	}
	text := func(column string) filter.Cond {
		return open(l, texts[column], l.Column(x.engine, "o."+column, is.now))
	}
	var alts []filter.Cond
	for _, column := range parties[l.Field] {
		alts = append(alts, party(column, l))
	}
	switch {
	case l.Field == "":
		id := filter.Cond{SQL: "o.opid_fold = ?", Args: []any{filter.FoldID(l.Values[0].Text)}}
		if l.Masks(l.Values[0]) {
			id = filter.False
		}
		alts = append([]filter.Cond{text(field.OpReference), text(field.OpComment), x.docCond(l, l.Values[0].Text), id},
			alts...)
	case texts[l.Field] != 0:
		return text(l.Field)
	case l.Field == filter.FieldDoc:
		for _, v := range l.Values {
			if v.Missing {
				alts = append(alts, cond("o.docs < 0"))
			} else {
				alts = append(alts, x.docCond(l, v.Text))
			}
		}
	}
	if alts != nil {
		return filter.Any(alts...)
	}
	c := x.kindIn("o.kind", is.matching(l))
	if l.Field != filter.FieldHas {
		return c
	}
	alts = []filter.Cond{c} // the row decides the values of "has" that the kind does not know
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

// open is c; for masked leaves only if masking hides nothing in the text.
func open(l *filter.Leaf, text filter.MaskedText, c filter.Cond) filter.Cond {
	if !l.Masked {
		return c
	}
	return filter.All(filter.Cond{SQL: "(o.hidden & ?) = 0", Args: []any{int64(text)}}, c)
}

// partyIs is the condition that the party in a column of a row o matches a leaf.
type partyIs func(column string, l *filter.Leaf) filter.Cond

func (x terms) ofParty(column string, l *filter.Leaf) filter.Cond {
	p := x.parties1(l)
	return filter.Cond{SQL: "SELECT n FROM index_op WHERE " + column + " IN (" + p.SQL + ")", Args: p.Args}
}

// ofParties is ofParty for several columns with one search for the parties.
func (x terms) ofParties(l *filter.Leaf, columns ...string) filter.Cond {
	p := x.parties1(l)
	var parts []filter.Cond
	for _, c := range columns {
		parts = append(parts, filter.Cond{SQL: "SELECT n FROM index_op WHERE " + c + " IN (SELECT n FROM party)"})
	}
	return filter.Cond{SQL: "SELECT n FROM (WITH party (n) AS MATERIALIZED (" + p.SQL + ") " + union(parts...).SQL +
		") AS byparty", Args: p.Args}
}

// parties1 selects the parties that match a leaf.
func (x terms) parties1(l *filter.Leaf) filter.Cond {
	c := x.partyCond(l, true)
	return filter.Cond{SQL: "SELECT p.n FROM index_party p WHERE p.scope = ? AND (" + c.SQL + ")",
		Args: append([]any{x.scope}, c.Args...)}
}

// partyIn is the condition that a row's party is one of those that match a leaf.
func (x terms) partyIn(column string, l *filter.Leaf) filter.Cond {
	p := x.parties1(l)
	return filter.Cond{SQL: "o." + column + " IN (" + p.SQL + ")", Args: p.Args}
}

// partyLists searches the parties of each leaf once, in a WITH clause, however often a query uses them. IS TRUE keeps
// PostgreSQL from converting each condition to a join that starts from all parties.
type partyLists struct {
	x    *Store
	at   map[*filter.Leaf]int
	list []filter.Cond
}

func (l *partyLists) in(column string, leaf *filter.Leaf) filter.Cond {
	n, ok := l.at[leaf]
	if !ok {
		n = len(l.list)
		l.at[leaf] = n
		l.list = append(l.list, l.x.parties1(leaf))
	}
	return filter.Cond{SQL: "(o." + column + " IN (SELECT n FROM party" + strconv.Itoa(n) + ")) IS TRUE"}
}

// with is the WITH clause, "" if there is none.
func (l *partyLists) with() (c filter.Cond) {
	for i, p := range l.list {
		word := ", "
		if i == 0 {
			word = "WITH "
		}
		c.SQL += word + "party" + strconv.Itoa(i) + " (n) AS MATERIALIZED (" + p.SQL + ") "
		c.Args = append(c.Args, p.Args...)
	}
	return c
}

// partyOf is the same condition, checked on the row's own party.
func (x terms) partyOf(column string, l *filter.Leaf) filter.Cond {
	c := x.partyCond(l, false)
	return filter.Cond{SQL: "EXISTS (SELECT 1 FROM index_party p WHERE p.n = o." + column + " AND (" + c.SQL + "))",
		Args: c.Args}
}

// partyCond is a leaf's condition on a party p; words: by the word index first, when all are searched.
func (x terms) partyCond(l *filter.Leaf, words bool) filter.Cond {
	var alts []filter.Cond
	for _, v := range l.Values {
		if v.Missing { // the name; for words without a field, that of an identifier
			c := filter.Cond{SQL: "p.sort = '' AND p.name = ''"}
			if l.Kind == filter.Free {
				c.SQL += " AND p.ids <> ''"
			}
			alts = append(alts, c)
			continue
		}
		want, whole := filter.Fold(v.Text), filter.Joined(v.Text)
		if l.Op == filter.Eq {
			want = whole
		}
		text := "p.body"
		if l.Masked {
			text = "p.shown"
		}
		c := filter.Cond{SQL: x.engine.Instr + "(" + text + ", ?) > 0", Args: []any{want}}
		if !l.Masks(v) {
			c = filter.Cond{SQL: c.SQL + " OR " + x.engine.Instr + "(p.ids, ?) > 0", Args: []any{want, whole}}
		}
		if in, ok := x.narrow(v.Text); ok && words && !(l.Masked && strings.Contains(v.Text, redact.Dot)) {
			c = filter.All(in, c)
		}
		alts = append(alts, c)
	}
	return filter.Any(alts...)
}

// narrow is the condition that a party's texts may contain s, by the word index.
func (x terms) narrow(s string) (c filter.Cond, ok bool) {
	c, ok = x.wordsWith("index_party_words", s)
	if x.postgres() {
		return filter.Cond{SQL: "(p.body || p.ids) LIKE ?", Args: []any{likeAny(s)}}, ok
	}
	return filter.Cond{SQL: "p.n IN (SELECT rowid FROM index_party_words WHERE " + c.SQL + ")", Args: c.Args}, ok
}

func likeAny(s string) string {
	return "%" + filter.Like(filter.Fold(s)) + "%"
}

// trigrams is a full-text query for rows that contain s, and some more.
func trigrams(s string) string {
	r := []rune(filter.Fold(s))
	var out []string
	for i := 0; i+3 <= len(r) && len(out) < 8; i++ {
		out = append(out, `"`+strings.ReplaceAll(string(r[i:i+3]), `"`, `""`)+`"`)
	}
	return strings.Join(out, " AND ")
}

// ofWords selects the operations whose own texts may match a leaf.
func (x terms) ofWords(l *filter.Leaf) (c filter.Cond, ok bool) {
	var match, like []filter.Cond
	for _, v := range l.Values {
		in, ok := x.wordsWith("index_words", v.Text)
		if !ok {
			return c, false
		}
		match = append(match, filter.Cond{SQL: "SELECT rowid AS n FROM index_words WHERE " + in.SQL, Args: in.Args})
		like = append(like, filter.Cond{SQL: "(reference || comment || doc_text) LIKE ?", Args: []any{likeAny(v.Text)}})
	}
	if x.postgres() {
		c = filter.Any(like...)
		return filter.Cond{SQL: "SELECT n FROM index_op WHERE scope = ? AND (" + c.SQL + ")",
			Args: append([]any{x.scope}, c.Args...)}, true
	}
	return union(match...), true
}

// wordsWith is the condition on a word index that a text may contain s: by trigrams, in SQLite also by two letters,
// as a prefix of terms. ok is false for one letter, which nearly every text contains.
func (x terms) wordsWith(table, s string) (c filter.Cond, ok bool) {
	s = filter.Fold(s)
	switch n := utf8.RuneCountInString(s); {
	case n >= 3:
		return filter.Cond{SQL: table + " MATCH ?", Args: []any{trigrams(s)}}, true
	case n == 2 && !x.postgres():
		return filter.Cond{SQL: table +
			` MATCH (SELECT ifnull(group_concat('"' || replace(term, '"', '""') || '"', ' OR '), '""') FROM ` +
			table + `_terms WHERE term >= ? AND term < ?)`, Args: []any{s, s + string(utf8.MaxRune)}}, true
	}
	return c, false
}
