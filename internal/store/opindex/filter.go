package opindex

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/store"
)

// columns are the columns of index_op that a filter by that field compares.
var columns = map[string]string{
	field.OpCreated: "o.created_us", field.OpUpdated: "o.updated_us", field.OpAmount: "o.amount_key",
	field.OpReceived: "o.received_key", field.OpCommission: "o.fee_key", field.OpID: "o.opid_fold",
	field.OpDocuments: "o.docs",
}

// texts are the columns with folded texts, and the masking that hides them.
var texts = map[string]struct {
	column string
	masked filter.MaskedText
}{
	field.OpReference: {"o.reference", filter.MaskedReference}, field.OpComment: {"o.comment", filter.MaskedComment},
}

// parties are the columns with a party that a filter by that field compares. The field "" is for words without a field.
var parties = map[string][]string{
	field.OpCustomer:    {"o.customer"},
	field.OpSource:      {"o.source"},
	field.OpDestination: {"o.destination"},
	filter.FieldParty:   {"o.source", "o.destination"},
	"":                  {"o.customer", "o.source", "o.destination"},
}

// codeColumn is a column with few different words, and an operation that has such a word.
type codeColumn struct {
	column string
	like   func(word untrusted.Text) api.Operation
}

var codes = map[string]codeColumn{
	field.OpStatus:    {"status", ofStatus},
	filter.FieldPhase: {"status", ofStatus},
	field.OpType:      {"type", func(w untrusted.Text) api.Operation { return api.Operation{Type: w} }},
	field.OpPayment:   {"payment", func(w untrusted.Text) api.Operation { return api.Operation{PaymentType: w} }},
	field.OpCurrency: {"currency", func(w untrusted.Text) api.Operation {
		return api.Operation{SourceAmount: api.Amount{Sum: api.Money{CurrencyCode: w}}}
	}},
	filter.FieldToCurrency: {"tocurrency", func(w untrusted.Text) api.Operation {
		return api.Operation{DestinationAmount: api.Amount{Sum: api.Money{CurrencyCode: w}}}
	}},
}

func ofStatus(w untrusted.Text) api.Operation { return api.Operation{Status: w} }

// flag is a set of bits of which some are set; flags of earlier builds say less, and are not known then.
func flag(bits, set int64) string {
	return "(o.flags & " + strconv.FormatInt(bits, 10) + ") = " + strconv.FormatInt(set, 10)
}

// has are the values of filter.FieldHas that the row decides, and lacks what it must tell for them.
var (
	has = map[string]string{
		"locked": flag(flagLocked, flagLocked), "doc": flag(flagDoc, flagDoc), "parent": flag(flagParent, flagParent),
		"visible":   flag(flagHidden|flagSaysVisible, flagSaysVisible),
		"hidden":    flag(flagHidden|flagSaysVisible, flagHidden|flagSaysVisible),
		"badamount": flag(flagBad, flagBad), "comment": "o.comment <> ''", "reference": "o.reference <> ''",
	}
	lacks = map[string]string{
		field.OpDocuments: flag(flagDoc|flagSaysDocs, 0), filter.FieldLock: flag(flagLocked|flagSaysLock, 0),
		field.OpVisible: flag(flagSaysVisible, 0), field.OpParent: flag(flagSaysParent, 0),
		field.OpReference: flag(flagNoReference, flagNoReference), field.OpComment: flag(flagNoComment, flagNoComment),
	}
)

// question is a filter as a condition on a row o of index_op.
type question struct {
	x       *Store
	f       filter.OperationExpr
	now     time.Time
	where   filter.Cond
	words   map[string][]string // of a code's column
	pending error
}

// ask converts a filter.
func (x *Store) ask(ctx context.Context, f filter.OperationExpr, now time.Time) (*question, error) {
	q := &question{x: x, f: f.Exact(), now: now, words: map[string][]string{}}
	q.where = q.f.SQL(func(l *filter.Leaf) filter.Cond { return q.leaf(ctx, l) })
	return q, q.pending
}

// leaf is the condition of one comparison.
func (q *question) leaf(ctx context.Context, l *filter.Leaf) filter.Cond {
	if column, ok := columns[l.Field]; ok {
		return l.Column(q.x.Engine, column, q.now)
	}
	if c, ok := codes[l.Field]; ok {
		return q.code(ctx, l, c)
	}
	switch l.Field {
	case field.OpReference, field.OpComment:
		return q.text(l, l.Field)
	case filter.FieldDoc:
		return q.documents(l)
	case filter.FieldHas:
		var alts []filter.Cond
		for _, v := range l.Values {
			if sql, ok := has[v.Text]; ok && !v.Missing {
				alts = append(alts, cond(sql))
			} else if sql, ok := lacks[v.Text]; ok && v.Missing {
				alts = append(alts, cond(sql))
			}
		}
		return filter.Any(alts...)
	case "":
		v := l.Values[0]
		alts := []filter.Cond{q.parties(ctx, l)}
		if !l.Masks(v) {
			alts = append(alts, cond("o.opid_fold = ?", filter.FoldID(v.Text)))
		}
		if !l.Masked {
			return filter.Any(append(alts, cond(q.x.Instr+"(o.search, ?) > 0", filter.Fold(v.Text)))...)
		}
		return filter.Any(append(alts, q.text(l, field.OpReference), q.text(l, field.OpComment), q.documents(l))...)
	}
	if parties[l.Field] != nil {
		return q.parties(ctx, l)
	}
	return filter.False // filter.FieldNote: AskBeside has added what it names
}

// code asks the filter about each word of a column.
func (q *question) code(ctx context.Context, l *filter.Leaf, c codeColumn) filter.Cond {
	if _, known := q.words[c.column]; !known && q.pending == nil {
		q.words[c.column], q.pending = q.x.wordsOf(ctx, c.column)
	}
	only, match := q.f.Of(l), []string{}
	for _, w := range q.words[c.column] {
		if only.Match(c.like(untrusted.Text(w)), q.now) {
			match = append(match, w)
		}
	}
	return in("o."+c.column, q.x.texts, match)
}

// in is the condition that a column has one of the values; list is a dialect's SELECT of them.
func in[T string | int64](column, list string, values []T) filter.Cond {
	switch len(values) {
	case 0:
		return filter.False
	case 1:
		return cond(column+" = ?", values[0])
	}
	text, _ := json.Marshal(values) // texts and numbers: cannot fail
	return cond(column+" IN ("+list+")", string(text))
}

// wordsOf lists the different words of a code's column, each by one step in its index.
func (x *Store) wordsOf(ctx context.Context, column string) ([]string, error) {
	next := "(SELECT MIN(" + column + ") FROM index_op WHERE scope = ?"
	return store.List(ctx, x.q, store.Value[string], "WITH RECURSIVE w (v) AS (SELECT "+next+") UNION ALL SELECT "+next+
		" AND "+column+" > w.v) FROM w WHERE w.v IS NOT NULL) SELECT v FROM w WHERE v IS NOT NULL", x.scope, x.scope)
}

// text is the condition of a leaf on one of the texts.
func (q *question) text(l *filter.Leaf, name string) filter.Cond {
	c := open(l, texts[name].masked, l.Column(q.x.Engine, texts[name].column, q.now))
	if l.Field == name && slices.ContainsFunc(l.Values, func(v filter.Value) bool { return v.Missing }) {
		return filter.Any(c, cond(lacks[name]))
	}
	return c
}

// open is c; for masked leaves only if masking hides nothing in the text.
func open(l *filter.Leaf, text filter.MaskedText, c filter.Cond) filter.Cond {
	if !l.Masked {
		return c
	}
	return filter.All(cond("(o.hidden & ?) = 0", int64(text)), c)
}

func (q *question) documents(l *filter.Leaf) filter.Cond {
	var alts []filter.Cond
	for _, v := range l.Values {
		want := filter.Fold(v.Text)
		if l.Op == filter.Eq {
			want = filter.Joined(v.Text)
		}
		switch {
		case !v.Missing:
			alts = append(alts, open(l, filter.MaskedDocs, cond(q.x.Instr+"(o.doc_text, ?) > 0", want)))
		case l.Field == filter.FieldDoc:
			alts = append(alts, cond("o.docs < 0"))
		}
	}
	return filter.Any(alts...)
}

// parties is the condition that one of the row's parties of that field matches a leaf.
func (q *question) parties(ctx context.Context, l *filter.Leaf) filter.Cond {
	var values, alts []filter.Cond
	for _, v := range l.Values {
		values = append(values, q.x.party(l, v))
	}
	c := filter.Any(values...)
	var ns []int64
	if q.pending == nil {
		ns, q.pending = store.List(ctx, q.x.q, store.Value[int64], "SELECT p.n FROM index_party p"+q.x.scan+
			" WHERE p.scope = ? AND ("+c.SQL+") ORDER BY p.n", append([]any{q.x.scope}, c.Args...)...)
	}
	for _, column := range parties[l.Field] {
		alts = append(alts, in(column, q.x.numbers, ns))
	}
	return filter.Any(alts...)
}

// party is the condition of a value on a party p.
func (x *Store) party(l *filter.Leaf, v filter.Value) filter.Cond {
	if v.Missing { // the name; for words without a field, that of an identifier
		c := cond("p.sort = '' AND p.name = ''")
		if l.Kind == filter.Free {
			c.SQL += " AND p.ids <> ''"
		}
		return c
	}
	want, whole, text := filter.Fold(v.Text), filter.Joined(v.Text), "p.body"
	if l.Op == filter.Eq {
		want = whole
	}
	if l.Masked {
		text = "p.shown"
	}
	c := cond(x.Instr+"("+text+", ?) > 0", want)
	if l.Masks(v) {
		return c
	}
	return filter.Any(c, cond(x.Instr+"(p.ids, ?) > 0", whole))
}

// selects is SELECT what FROM the matching rows o, which an access of the dialect finds ("": any index), and the party
// in a column ("": none).
func (q *question) selects(what, access, party string, more ...filter.Cond) filter.Cond {
	table, scope := "index_op o"+access, "o.scope = ?"
	if party != "" {
		table, scope = table+" JOIN index_party p ON p.n = "+party, "p.scope = ?"
	}
	all := []filter.Cond{cond(scope, q.x.scope)}
	for _, c := range append([]filter.Cond{q.where}, more...) {
		if c.SQL != filter.True.SQL {
			all = append(all, c)
		}
	}
	where := filter.All(all...)
	return cond("SELECT "+what+" FROM "+table+" WHERE "+where.SQL, where.Args...)
}
