package widget

import "strings"

// Sentences are pairs one a line, label and value with a colon between them.
func Sentences(list []Pair) []string {
	out := make([]string, 0, len(list))
	for _, p := range list {
		if s := p.Sentence(); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// Sentence is the pair as it is said: "status: PENDING".
func (p Pair) Sentence() string {
	switch {
	case p.Label == "":
		return p.Value
	case p.Value == "", p.Value == "–":
		return strings.TrimSpace(p.Label) + ": none"
	}
	return strings.TrimSpace(p.Label) + ": " + p.Value
}

// Titles are the names of the columns.
func (t *tableColumns) Titles() []string {
	out := make([]string, len(t.columns))
	for i, c := range t.columns {
		out[i] = c.Title
	}
	return out
}

// Len is the number of rows, Row the one at i.
func (t *tableCursor) Len() int      { return t.source.Len() }
func (t *tableCursor) Row(i int) Row { return t.source.Row(i) }

// Empty is what is in the place of rows while there are none.
func (t *Table) Empty() Notice { return t.notice }

// Paged makes a page of n rows whatever its size, for a table that is not drawn.
func (t *Table) Paged(n int) {
	t.paged = n
	t.settle()
}

// Said is the filter's mistake as a sentence, "" when it is right.
func (b *FilterBar) Said() string { return b.what }
