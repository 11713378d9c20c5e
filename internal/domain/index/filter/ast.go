package filter

import (
	"context"
	"strings"
	"time"
	"unicode"

	"opdeck/internal/domain/mask"
)

// Op is how a leaf compares.
type Op string

// The comparisons. "!=" is parsed as the negation of "=" or ":".
const (
	Has Op = ":"
	Eq  Op = "=" // for Text the whole text is equal; for other kinds the same as Has
	Lt  Op = "<"
	Le  Op = "<="
	Gt  Op = ">"
	Ge  Op = ">="
	ne  Op = "!="
)

// Node is a part of an expression: And, Or, Not or *Leaf.
type Node interface {
	write(b *strings.Builder, inside level)
}

type level int

const (
	top level = iota
	inOr
	inAnd
	inNot
)

// And holds if all of its parts do; an empty one always does.
type And []Node

// Or holds if one of its parts does.
type Or []Node

// Not holds if X does not.
type Not struct{ X Node }

// Leaf is one comparison. It holds if it does for any of its Values.
type Leaf struct {
	Field  string // the field's main name; "" for free text
	Kind   Kind
	Op     Op
	Values []Value
	// Masked leaves match masked values only; see Expr.Masked.
	Masked  bool
	index   int
	settled bool           // a condition with two values: see settle
	shown   bool           // a part of a Word: it has two values
	zone    *time.Location // of days and times of day; nil: UTC
}

// Value is one value as typed, with its meaning.
type Value struct {
	Text  string // as typed, unquoted; the lower end of a range
	To    string // the upper end of a range
	Range bool
	// Missing matches records without the field that Text names.
	Missing bool
	lo, hi  point
	tail    string // Ident: the other end, where the middle is cut
	whole   bool   // Ident: no beginning, the identifier itself
	rounded bool   // Money: a range around what people say, such as 137k
	later   bool   // Time: the second time that clocks show it; not printed
}

// point is one bound of an ordered value.
type point struct {
	set bool
	key string  // Money
	num int64   // Count
	at  *moment // Time
}

func (a And) write(b *strings.Builder, inside level) { join(b, a, " ", inside >= inNot, inAnd) }
func (o Or) write(b *strings.Builder, inside level)  { join(b, o, " OR ", inside >= inAnd, inOr) }

func join(b *strings.Builder, parts []Node, sep string, brackets bool, inside level) {
	if brackets {
		b.WriteByte('(')
	}
	for i, p := range parts {
		if i > 0 {
			b.WriteString(sep)
		}
		p.write(b, inside)
	}
	if brackets {
		b.WriteByte(')')
	}
}

func (n Not) write(b *strings.Builder, _ level) {
	if w, ok := n.X.(Word); ok && signed("-"+w.Text) { // a minus before a number is its sign
		b.WriteString("NOT ")
	} else {
		b.WriteByte('-')
	}
	n.X.write(b, inNot)
}

func (l *Leaf) write(b *strings.Builder, _ level) {
	if l.Kind == Free {
		b.WriteString(Quoted(l.Values[0].Text))
		return
	}
	b.WriteString(l.Field)
	b.WriteString(string(l.Op))
	for i, v := range l.Values {
		if v.later {
			continue
		}
		if i > 0 {
			b.WriteByte(l.separator())
		}
		text := v.Text
		if v.tail != "" {
			text += Cut + v.tail
		}
		if v.Range {
			text += ".." + v.To
		}
		b.WriteString(quote(text, l.Kind))
	}
}

// separator is between values: a comma could belong to an amount.
func (l *Leaf) separator() byte {
	if l.Kind == Money {
		return '|'
	}
	return ','
}

const special = "()\",|\\" // and spaces

func quote(s string, k Kind) string {
	if s == "" || k != Money && strings.ContainsAny(s, special) || strings.ContainsFunc(s, unicode.IsSpace) ||
		strings.ContainsRune(openers+":=<>", []rune(s)[0]) {
		return Quoted(s)
	}
	return s
}

// Quoted quotes any s as one text of the language.
func Quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// Expr is a parsed filter over records of type T. The zero Expr matches everything.
type Expr[T any] struct {
	root  Node // as typed; nil: everything
	exact Node // root as a condition with two values
	table *Table[T]
}

// of is the filter of n, which may be nil.
func (t *Table[T]) of(n Node) Expr[T] { return Expr[T]{root: n, exact: t.settle(n, false), table: t} }

// exactly is the filter of a condition that has two values already.
func (e Expr[T]) exactly(n Node) Expr[T] { return Expr[T]{root: n, exact: n, table: e.table} }

// Exact is e as a condition with two values for any record: what its parts do not match does not match.
func (e Expr[T]) Exact() Expr[T] { return e.exactly(e.exact) }

// String is the canonical form: parsing it returns the same expression.
func (e Expr[T]) String() string {
	if e.root == nil {
		return ""
	}
	var b strings.Builder
	e.root.write(&b, top)
	return b.String()
}

// Empty reports whether the filter matches everything.
func (e Expr[T]) Empty() bool { return e.root == nil }

// flat merges And into And and Or into Or.
func flat(n Node) Node {
	switch n := n.(type) {
	case And:
		return lift(n)
	case Or:
		return lift(n)
	}
	return n
}

func lift[L interface {
	And | Or
	Node
}](all L) Node {
	var out L
	for _, p := range all {
		if inner, ok := p.(L); ok {
			out = append(out, inner...)
		} else {
			out = append(out, p)
		}
	}
	if len(out) == 1 {
		return out[0]
	}
	return out
}

// Leaves calls f for every comparison, in order.
func (e Expr[T]) Leaves(f func(*Leaf)) {
	rebuild(e.root, func(l *Leaf) Node { f(l); return l })
}

// rebuild returns n with each comparison replaced by the result of of.
func rebuild(n Node, of func(*Leaf) Node) Node {
	each := func(parts []Node) []Node {
		out := make([]Node, len(parts))
		for i, p := range parts {
			out[i] = rebuild(p, of)
		}
		return out
	}
	switch n := n.(type) {
	case And:
		return And(each(n))
	case Or:
		return Or(each(n))
	case Not:
		return Not{rebuild(n.X, of)}
	case *Leaf:
		return of(n)
	case Word:
		n.Means = rebuild(n.Means, of)
		return n
	}
	return n
}

// Of is the filter of n alone, a part of e; nil matches everything.
func (e Expr[T]) Of(n Node) Expr[T] { return e.table.of(n) }

// Parts returns the terms that must all hold.
func (e Expr[T]) Parts() []Node {
	switch n := e.root.(type) {
	case nil:
		return nil
	case And:
		return n
	default:
		return []Node{n}
	}
}

// Masked is the filter for a person who may not reveal account numbers: it does not match what masking hides, so that
// nobody can guess a number digit by digit. It prints like e.
func (e Expr[T]) Masked() Expr[T] {
	return e.Of(rebuild(e.root, func(l *Leaf) Node {
		masked := *l
		masked.Masked = true
		return &masked
	}))
}

// In is e for a person who sees times in that zone: days and times of day without a field are of it. Nil is UTC.
func (e Expr[T]) In(zone *time.Location) Expr[T] {
	return e.Of(rebuild(e.root, func(l *Leaf) Node {
		there := *l
		there.zone = zone
		return &there
	}))
}

// For is e for the person in ctx: Masked if they may not reveal account numbers.
func (e Expr[T]) For(ctx context.Context) Expr[T] {
	if mask.Barred(ctx) {
		return e.Masked()
	}
	return e
}
