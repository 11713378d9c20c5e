package filter

import (
	"strings"
	"time"
)

// Clue is what one term looks for, to search for something near it.
type Clue struct {
	Field    string // "" for words without a field
	Amount   string // digits with a point; "": no amount
	From, To time.Time
	Text     string // of a text, code or identifier
}

// Clue returns what a part of e looks for; ok is false for a part that is no single value.
func (e Expr[T]) Clue(n Node, now time.Time) (c Clue, ok bool) {
	if w, is := n.(Word); is {
		walkLeaves(w.Means, func(l *Leaf) { c.add(l, now) })
		if text := strings.ReplaceAll(w.Text, "...", Cut); strings.Contains(text, Cut) {
			c.Text = text
		}
		return c, true
	}
	l, is := n.(*Leaf)
	if !is || len(l.Values) != 1 || l.Values[0].Range {
		return c, false
	}
	c.Field = l.Field
	c.add(l, now)
	return c, true
}

func (c *Clue) add(l *Leaf, now time.Time) {
	if len(l.Values) == 0 || l.Values[0].Range {
		return
	}
	switch v := l.Values[0]; l.Kind {
	case Money:
		c.Amount, _ = KeyDecimal(v.lo.key)
	case Time:
		b := l.TimeBounds(v, now)
		if c.From, c.To = time.UnixMicro(b.Lo), time.UnixMicro(b.Hi); !b.HasHi {
			c.To = c.From
		}
	case Ident:
		if c.Text = v.Text; v.tail != "" {
			c.Text += Cut + v.tail
		}
	case Free, Text, Code:
		c.Text = v.Text
	}
}

func walkLeaves(n Node, f func(*Leaf)) {
	rebuild(n, func(l *Leaf) Node { f(l); return l })
}

// Texts returns the texts of a record that words of a field are searched in, "" for those without a field; nil if the
// field has none.
func (e Expr[T]) Texts(field string) func(T) []string {
	for _, f := range e.table.fields {
		if f.Name == field && (f.Kind == Text || f.Kind == Free) {
			return f.Strings
		}
	}
	return nil
}
