package filter

import (
	"slices"
	"strings"
	"time"

	"opdeck/api/redact"
)

// Match reports whether the filter is true for the record; now is the reference for ages.
func (e Expr[T]) Match(record T, now time.Time) bool {
	return e.exact == nil || e.match(e.exact, record, now)
}

func (e Expr[T]) match(n Node, r T, now time.Time) bool {
	switch n := n.(type) {
	case And:
		return !slices.ContainsFunc(n, func(p Node) bool { return !e.match(p, r, now) })
	case Or:
		return slices.ContainsFunc(n, func(p Node) bool { return e.match(p, r, now) })
	case Not:
		return !e.match(n.X, r, now)
	case *Leaf:
		f := &e.table.fields[n.index]
		return slices.ContainsFunc(n.Values, func(v Value) bool { return f.match(n, v, r, now) })
	}
	return true
}

func (f *Field[T]) match(l *Leaf, v Value, r T, now time.Time) bool {
	switch f.Kind {
	case Money:
		return l.moneyBounds(v).holds(f.Key(r))
	case Count:
		return l.countBounds(v).holds(f.Count(r))
	case Time:
		return l.TimeBounds(v, now).holds(f.Time(r).UnixMicro())
	}
	switch {
	case v.Missing:
		return f.Lacks(r, v.Text)
	case f.Kind == Flag:
		return f.Flag(r, v.Text)
	}
	if f.Kind == Ident {
		return slices.ContainsFunc(f.Strings(r), func(id string) bool { return v.identifies(FoldID(id)) })
	}
	want, texts := Fold(v.Text), f.Strings
	if l.Masked && f.Masked != nil {
		texts = f.Masked
	}
	if f.IDs != nil && !l.Masks(v) && slices.ContainsFunc(f.IDs(r), func(id string) bool { return Fold(id) == want }) {
		return true
	}
	return slices.ContainsFunc(texts(r), func(s string) bool {
		if f.Exact {
			return s == v.Text
		}
		switch s = Fold(s); {
		case l.Op == begins:
			return strings.HasPrefix(s, want) || strings.Contains(s, " "+want)
		case l.Op == isWord:
			return slices.Contains(strings.Fields(s), want)
		case f.Kind == Code || l.Op == Eq:
			return s == want
		}
		return strings.Contains(s, want)
	})
}

// identifies reports whether a folded identifier has the ends of v.
func (v Value) identifies(id string) bool {
	if v.whole {
		return id == FoldID(v.Text)
	}
	return strings.HasPrefix(id, FoldID(v.Text)) && strings.HasSuffix(id, FoldID(v.tail))
}

// Masks reports whether no identifier may match v: the leaf is masked, and v would be masked too.
func (l *Leaf) Masks(v Value) bool { return l.Masked && redact.Changes(Fold(v.Text)) }
