package opindex

import (
	"strings"
	"unicode/utf8"

	"opdeck/internal/domain/index/filter"
)

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
