// Package filter is the filter language: one grammar for the operations list, saved views, the export and the events.
//
//	status:PENDING type:WITHDRAW amount>=1000.50 currency:EUR created>2026-01-01
//	updated<2h has:locked -comment:test (customer:acme OR customer:globex) "free text"
//
// A Table declares the fields; Parse converts text to an Expr, which prints itself in canonical form, matches a
// record in Go (Match) and converts to an SQL condition (SQL) whose values are always arguments. Match and SQL agree:
// the store's tests compare them.
//
// Amounts are exact decimals of any length; nothing here is a float.
package filter

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"opdeck/internal/field"
)

type parser[T any] struct {
	t     *Table[T]
	toks  []token
	i     int
	depth int
	terms int
}

// Parse parses a filter. An empty text matches everything. An error is an *Error with the column of the mistake.
func (t *Table[T]) Parse(input string) (Expr[T], error) {
	toks, err := lex(input, t.kindOf)
	if err != nil {
		return Expr[T]{}, err
	}
	p := &parser[T]{t: t, toks: toks}
	if p.peek().kind == tEnd {
		return t.of(nil), nil
	}
	n, err := p.or()
	if err != nil {
		return Expr[T]{}, err
	}
	if k := p.peek(); k.kind != tEnd {
		return Expr[T]{}, fail(k.pos, "This bracket has no opening bracket.", "Remove it, or add an opening bracket.")
	}
	return t.of(n), nil
}

// kindOf is the kind of a field by its name as typed.
func (t *Table[T]) kindOf(name string) (Kind, bool) {
	at, ok := t.byName[strings.ToLower(name)]
	if !ok {
		return 0, false
	}
	return t.fields[at].Kind, true
}

func (p *parser[T]) peek() token { return p.toks[p.i] }

func (p *parser[T]) take() token { p.i++; return p.toks[p.i-1] }

func (p *parser[T]) or() (Node, error) {
	n, err := p.and()
	if err != nil {
		return nil, err
	}
	all := Or{n}
	for p.peek().kind == tOr {
		p.take()
		n, err := p.and()
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return flat(all), nil
}

func (p *parser[T]) and() (Node, error) {
	var all And
	for {
		switch k := p.peek(); k.kind {
		case tEnd, tClose, tOr:
			if len(all) == 0 {
				return nil, p.missing(k)
			}
			withoutNoise(all)
			return flat(all), nil
		case tAnd:
			p.take()
			if next := p.peek(); len(all) == 0 || next.kind == tEnd || next.kind == tClose || next.kind == tOr ||
				next.kind == tAnd {
				return nil, fail(k.pos, "AND needs a term on both sides.",
					"You can leave AND out: terms beside each other must all match.")
			}
		}
		n, err := p.bars()
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
}

func (p *parser[T]) missing(k token) error {
	switch k.kind {
	case tOr:
		return fail(k.pos, "OR needs a term before it.",
			"Write a term on both sides: status:PENDING OR status:NEW.")
	case tClose:
		return fail(k.pos, "There is nothing before this bracket.", "Write a term within the brackets.")
	}
	return fail(k.pos, "A term is missing at the end.", "Write a term such as status:PENDING.")
}

// bars reads a term, or terms with bars and no space between them.
func (p *parser[T]) bars() (Node, error) {
	n, err := p.not()
	for all := (Or{n}); err == nil && p.peek().kind == tOr && p.peek().glued && p.toks[p.i+1].glued; n = flat(all) {
		p.take()
		n, err = p.not()
		all = append(all, n)
	}
	return n, err
}

func (p *parser[T]) not() (Node, error) {
	negated := false
	for p.peek().kind == tNot {
		k := p.take()
		next := p.peek()
		if next.kind == tEnd || k.text == "" && !next.glued {
			return nil, fail(k.pos, "The minus has no term after it.",
				"Write it right before what must not match: -comment:test. Text that begins with a minus goes in quotes.")
		}
		negated = !negated
	}
	n, err := p.term()
	if err != nil {
		return nil, err
	}
	if negated {
		return negate(n), nil
	}
	return n, nil
}

func negate(n Node) Node {
	if not, ok := n.(Not); ok {
		return not.X
	}
	return Not{n}
}

func (p *parser[T]) term() (Node, error) {
	if p.terms++; p.terms > maxTerms {
		return nil, fail(p.peek().pos, "More than %d terms.", "Use fewer, or a list: status:A,B,C.", maxTerms)
	}
	switch k := p.take(); k.kind {
	case tOpen:
		if p.depth++; p.depth > maxDepth {
			return nil, fail(k.pos, "Brackets are nested deeper than %d.", "", maxDepth)
		}
		n, err := p.or()
		if err != nil {
			return nil, err
		}
		if p.peek().kind != tClose {
			return nil, fail(k.pos, "This bracket is not closed.", "Add ) at the end.")
		}
		p.take()
		p.depth--
		return n, nil
	case tWord:
		if Fold(k.text) == "" {
			return nil, fail(k.pos, "The quotes are empty.", "Write the text to look for.")
		}
		if k.quoted {
			return &Leaf{Kind: Free, Op: Has, Values: []Value{{Text: k.text}}, index: p.t.free}, nil
		}
		return p.words(k), nil
	case tField:
		return p.leaf(k)
	default:
		p.i--
		return nil, p.missing(k)
	}
}

// leaf is one comparison, or with the currencies of its amounts one for each amount.
func (p *parser[T]) leaf(k token) (Node, error) {
	at, ok := p.t.byName[strings.ToLower(k.text)]
	if !ok {
		return nil, fail(k.pos, "There is no field %q.", p.unknownHint(k), k.text)
	}
	f, op := p.t.fields[at], k.op
	if op == ne {
		op = Eq
	}
	if op == Eq && f.Kind != Text {
		op = Has
	}
	if op != Has && op != Eq && !f.Kind.ordered() {
		return nil, fail(k.pos+utf8.RuneCountInString(k.text), "%s cannot be compared with %s.",
			fmt.Sprintf("Write %s.", f.Example), f.Name, op)
	}
	l := &Leaf{Field: f.Name, Kind: f.Kind, Op: op, index: at}
	var each Or // the amounts with a currency
	for more := true; more; {
		val, codes, err := p.value(f, op, p.take())
		if err != nil {
			return nil, err
		}
		if of := p.t.currencyOf(f, codes); of != nil {
			one := *l
			one.Values = []Value{val}
			each = append(each, And{&one, of})
		} else {
			l.Values = append(l.Values, val.twins(op)...)
		}
		if more = p.peek().kind == tComma; more && op != Has && op != Eq {
			return nil, fail(p.peek().pos, "Only one value can follow %s.", "Write lists with a colon: "+f.Name+":a,b.", op)
		} else if more {
			p.take()
		}
	}
	if len(l.Values) > 0 {
		each = append(each, l)
	}
	if n := flat(each); k.op != ne {
		return n, nil
	} else {
		return Not{n}, nil
	}
}

// currencyOf compares the currency of an amount; nil without codes or without such a field.
func (t *Table[T]) currencyOf(f Field[T], codes []string) Node {
	at, ok := t.byName["currency"]
	if f.Name == field.OpReceived {
		at, ok = t.byName[FieldToCurrency]
	}
	if !ok || codes == nil {
		return nil
	}
	l := &Leaf{Field: t.fields[at].Name, Kind: Code, Op: Has, index: at}
	for _, c := range codes {
		l.Values = append(l.Values, Value{Text: c})
	}
	return l
}

func (p *parser[T]) unknownHint(k token) string {
	if near := Nearest(strings.ToLower(k.text), p.t.Names()); near != "" {
		return fmt.Sprintf("Did you mean %q? Text that contains %q goes in quotes.", near, k.op)
	}
	return fmt.Sprintf("Fields are %s. Text that contains %q goes in quotes.", strings.Join(p.t.Names(), ", "), k.op)
}

// Nearest is the name most likely meant by s: one with that prefix, or the closest within two letters; "" for none.
func Nearest(s string, names []string) string {
	best, found := 3, ""
	for _, n := range names {
		if strings.HasPrefix(n, s) && len(s) > 1 {
			return n
		}
		if d := distance(s, n); d < best && d < len(n) {
			best, found = d, n
		}
	}
	return found
}

func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost++
			}
			diag = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
