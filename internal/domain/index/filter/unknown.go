package filter

import (
	"slices"
	"strings"
)

// A term is true, false or unknown for a record: unknown if the record lacks the value that the term compares. A filter
// matches the records for which Kleene's logic makes it true, so that -x matches those for which x is false. settle
// converts it to a condition with two values: negations move to the leaves, and a negated leaf also excludes the
// records that lack its values.

// settle returns the condition that n is true, or with negated that it is false.
func (t *Table[T]) settle(n Node, negated bool) Node {
	switch n := n.(type) {
	case And:
		if negated {
			return Or(t.settleAll(n, negated))
		}
		return And(t.settleAll(n, negated))
	case Or:
		if negated {
			return And(t.settleAll(n, negated))
		}
		return Or(t.settleAll(n, negated))
	case Not:
		return t.settle(n.X, !negated)
	case Word:
		return t.settle(n.Means, negated)
	case *Leaf:
		l := *n
		if !l.settled && negated {
			for _, name := range t.needs(n) {
				l.Values = append(slices.Clip(l.Values), Value{Text: name, Missing: true})
			}
		}
		if l.settled = true; negated {
			return Not{&l}
		}
		return &l
	}
	return n
}

func (t *Table[T]) settleAll(parts []Node, negated bool) []Node {
	out := make([]Node, len(parts))
	for i, p := range parts {
		out[i] = t.settle(p, negated)
	}
	return out
}

// needs lists the fields that a record must have so that the leaf is true or false.
func (t *Table[T]) needs(l *Leaf) (names []string) {
	f := &t.fields[l.index]
	switch {
	case l.shown && f.Kind != Free:
		return nil
	case f.Kind.ordered():
		return []string{f.Name}
	case f.Needs == nil:
		return nil
	}
	for _, v := range l.Values {
		for _, name := range f.Needs(v.Text) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Needs lists the fields that a record must have so that the filter can judge it.
func (e Expr[T]) Needs() []string {
	var names []string
	for _, l := range e.needing(e.root) {
		for _, name := range e.table.needs(l) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// needing lists the leaves of n that some records lack the values of.
func (e Expr[T]) needing(n Node) (out []*Leaf) {
	e.Of(n).Leaves(func(l *Leaf) {
		if len(e.table.needs(l)) > 0 {
			out = append(out, l)
		}
	})
	return out
}

// Unknown matches the records that lack one of the fields of these names (of Needs), if e is unknown for them.
func (e Expr[T]) Unknown(names ...string) Expr[T] {
	var all, rest And // what every record has the values for, and the other parts
	for _, p := range e.Parts() {
		if len(e.needing(p)) == 0 {
			all = append(all, e.table.settle(p, false))
		} else {
			rest = append(rest, p)
		}
	}
	var lacks Or
	for _, name := range names {
		lacks = append(lacks, e.lacks(rest, name)...)
	}
	all = append(all, flat(lacks))
	if l, ok := single(rest); !ok || !l.Kind.ordered() { // one bound alone: neither true nor false without the value
		all = append(all, Not{e.table.settle(rest, false)}, Not{e.table.settle(rest, true)})
	}
	return e.exactly(all)
}

// lacks lists the conditions that a record lacks the field of that name, for the leaves of n that need it.
func (e Expr[T]) lacks(n Node, name string) (out []Node) {
	var done []int
	for _, l := range e.needing(n) {
		at := l.index
		if own, ok := e.table.byName[strings.ToLower(name)]; ok && l.Kind != Free {
			if f := e.table.fields[own]; f.Kind.ordered() || f.Lacks != nil { // it has an index
				at = own
			}
		}
		if !slices.Contains(e.table.needs(l), name) || slices.Contains(done, at) {
			continue
		}
		done = append(done, at)
		f := e.table.fields[at]
		lacks := &Leaf{Field: f.Name, Kind: f.Kind, Op: Has, Values: []Value{{Text: name, Missing: true}}, index: at,
			settled: true}
		if f.Kind == Free { // what the words lack of that field
			lacks.Field = name
		}
		out = append(out, lacks)
	}
	return out
}

// single returns the leaf of parts that are one leaf, negated or not.
func single(parts And) (l *Leaf, ok bool) {
	if len(parts) != 1 {
		return nil, false
	}
	if not, is := parts[0].(Not); is {
		l, ok = not.X.(*Leaf)
		return l, ok
	}
	l, ok = parts[0].(*Leaf)
	return l, ok
}
