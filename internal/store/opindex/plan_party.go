package opindex

import (
	"strconv"
	"strings"

	"opdeck/api/redact"
	"opdeck/internal/domain/index/filter"
)

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
