package filter

import (
	"strings"
	"time"
)

// Cond is a condition for WHERE with "?" for its arguments. It is never NULL if the columns are not.
type Cond struct {
	SQL  string
	Args []any
}

// True and False are the conditions that always and never hold.
var (
	True  = Cond{SQL: "1 = 1"}
	False = Cond{SQL: "1 = 0"}
)

// All joins conditions with AND.
func All(parts ...Cond) Cond { return joinConds(parts, " AND ", True) }

// Any joins conditions with OR.
func Any(parts ...Cond) Cond { return joinConds(parts, " OR ", False) }

func joinConds(parts []Cond, sep string, none Cond) Cond {
	switch len(parts) {
	case 0:
		return none
	case 1:
		return parts[0]
	}
	var b strings.Builder
	var c Cond
	for i, p := range parts {
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString("(" + p.SQL + ")")
		c.Args = append(c.Args, p.Args...)
	}
	c.SQL = b.String()
	return c
}

// inverse is NOT c.
func inverse(c Cond) Cond { return Cond{SQL: "NOT (" + c.SQL + ")", Args: c.Args} }

// SQL converts the filter to a condition; leaf converts each comparison.
func (e Expr[T]) SQL(leaf func(*Leaf) Cond) Cond { return NodeSQL(e.exact, leaf) }

// NodeSQL is SQL for a part of an expression; nil always holds.
func NodeSQL(n Node, leaf func(*Leaf) Cond) Cond {
	switch n := n.(type) {
	case And:
		return All(each(n, leaf)...)
	case Or:
		return Any(each(n, leaf)...)
	case Not:
		return inverse(NodeSQL(n.X, leaf))
	case *Leaf:
		return leaf(n)
	}
	return True
}

func each(parts []Node, leaf func(*Leaf) Cond) []Cond {
	var out []Cond
	for _, p := range parts {
		out = append(out, NodeSQL(p, leaf))
	}
	return out
}

// Engine names a database's function for substring search.
type Engine struct {
	Instr string // instr (SQLite) or strpos (PostgreSQL)
}

// SQLite and Postgres are the two engines.
var (
	SQLite   = Engine{Instr: "instr"}
	Postgres = Engine{Instr: "strpos"}
)

// Column returns the condition of a leaf on one column. The column holds, for Code, Text, Ident and Free, the folded
// text (Fold); for Money the key (MoneyKey), collated bytewise; for Time Unix µs; for Count a whole number. A Flag
// has no column: use Values. Column names come from the program; values become arguments.
func (l *Leaf) Column(e Engine, column string, now time.Time) Cond {
	var any []Cond
	whole := Cond{SQL: column + " IN ("}
	for _, v := range l.Values {
		if !v.whole {
			any = append(any, l.column(e, column, v, now))
			continue
		}
		if len(whole.Args) > 0 {
			whole.SQL += ", "
		}
		whole.SQL, whole.Args = whole.SQL+"?", append(whole.Args, FoldID(v.Text))
	}
	if len(whole.Args) > 0 { // one set, however many there are: each row is searched in it
		any = append(any, Cond{whole.SQL + ")", whole.Args})
	}
	return Any(any...)
}

func (l *Leaf) column(e Engine, column string, v Value, now time.Time) Cond {
	switch l.Kind {
	case Money:
		return bounds(column, l.moneyBounds(v))
	case Count:
		return bounds(column, l.countBounds(v))
	case Time:
		return bounds(column, l.TimeBounds(v, now))
	}
	want := Fold(v.Text)
	switch {
	case v.Missing: // another column decides
		return False
	case l.Kind == Ident:
		return ident(column, v)
	case l.Kind == Code || l.Op == Eq:
		return Cond{column + " = ?", []any{want}}
	}
	return Cond{e.Instr + "(" + column + ", ?) > 0", []any{want}}
}

// ident holds if the identifier has the ends of v.
func ident(column string, v Value) Cond {
	c := Prefix(column, FoldID(v.Text))
	if v.tail == "" {
		return c
	}
	return All(c, Cond{column + ` LIKE ? ESCAPE '\'`, []any{"%" + Like(FoldID(v.tail))}})
}

// Like is s as a part of a pattern of LIKE with the escape character \.
func Like(s string) string { return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s) }

// Prefix holds if the column (folded, collated bytewise) begins with the text.
func Prefix(column, want string) Cond {
	return Cond{column + " >= ? AND " + column + " < ?", []any{want, want + "\U0010FFFF"}}
}

func bounds[K string | int64](column string, b Bounds[K]) Cond {
	var all []Cond
	add := func(op string, with bool, k K) {
		if with {
			op += "="
		}
		all = append(all, Cond{column + " " + op + " ?", []any{k}})
	}
	if b.HasLo {
		add(">", b.LoWith, b.Lo)
	}
	if b.HasHi {
		add("<", b.HiWith, b.Hi)
	}
	return All(all...)
}
