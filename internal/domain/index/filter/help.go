package filter

import (
	"fmt"
	"strings"
)

// Row is one line of the table of fields.
type Row struct{ Name, Kind, Example, Help string }

// Rows describes the fields, in the table's order.
func (t *Table[T]) Rows() []Row {
	var rows []Row
	for _, f := range t.fields {
		name := strings.Join(append([]string{f.Name}, f.Aliases...), ", ")
		if f.Kind == Free {
			name = "(no field)"
		}
		help := f.Help
		if f.Kind == Flag {
			help += ": " + strings.Join(f.Values, ", ")
		}
		rows = append(rows, Row{name, f.Kind.word(), f.Example, help})
	}
	return rows
}

// grammar is the part of the help that all tables share.
const grammar = `Terms beside each other must all match; with OR between them, one must match; brackets group; ` +
	`a minus before a term (or NOT) negates it.
field:value      words are equal, texts contain the value, identifiers begin with it; case does not matter
field:a,b,c      one of the values
field=value      texts: the whole text is equal; field!=value is the opposite
field>=value     amounts, times and numbers also take < <= > and ranges: ` +
	`amount:100..500, created:2026-01..2026-03, amount:..10
times            2026, 2026-01, 2026-01-31, 2026-01-31T10:00 in the zone that is shown, ` +
	`2026-01-31T10:00Z in UTC; a date means the whole day: created>2026-01-31 starts on 1 February
                 today, yesterday, monday (the last one), "last week", "this month", "26 Nov", 26/11
ages             30m 2h 3d 2w: updated<2d changed within the last two days, ` +
	`updated>2d did not, its last change is older
amounts          exact decimals, never rounded: 1000.50, 1,000.50, 1 000,50, $1,000, -5; ` +
	`137k is 136,500 up to 137,500; a list is amount:100|200
words            without a field: what a list shows, in any text, without case or accents; several narrow
"free text"      in quotes: contained in any text as it is; ` +
	`quoted text may contain spaces and : = < > ( ) , and \" is a quote`

// Help describes the language for a screen: the grammar, then the fields.
func (t *Table[T]) Help() string {
	rows := t.Rows()
	w := [3]int{}
	for _, r := range rows {
		w[0], w[1], w[2] = max(w[0], len(r.Name)), max(w[1], len(r.Kind)), max(w[2], len(r.Example))
	}
	var b strings.Builder
	b.WriteString(grammar + "\n\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "%-*s  %-*s  %-*s  %s\n", w[0], r.Name, w[1], r.Kind, w[2], r.Example, r.Help)
	}
	return b.String()
}

// guideWidth bounds the lines of Guide, in cells, except for longer words: the help fits a window of 80.
const guideWidth = 68

// Guide describes the language in short lines for a help screen: the grammar, then the fields with examples.
func (t *Table[T]) Guide() []string {
	var out []string
	for _, line := range strings.Split(grammar, "\n") {
		name, rest, ok := strings.Cut(line, "  ")
		if rest = strings.TrimSpace(rest); !ok || strings.HasPrefix(line, " ") {
			name, rest = "", strings.TrimSpace(line)
		}
		if name == "" && len(out) == 0 {
			out = append(out, fold(rest, 0)...)
			continue
		}
		lines := fold(rest, 14)
		if len(name) < 13 {
			lines[0] = fmt.Sprintf("%-14s", name) + lines[0][14:]
		} else {
			lines = append([]string{name}, lines...)
		}
		out = append(out, lines...)
	}
	out = append(out, "")
	for _, r := range t.Rows() {
		out = append(out, fmt.Sprintf("%-30s %s", r.Name, r.Example))
		out = append(out, fold(r.Help, 2)...)
	}
	return out
}

// fold wraps a line between words and indents each part.
func fold(s string, indent int) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && indent+len(line)+1+len(word) > guideWidth {
			out = append(out, strings.Repeat(" ", indent)+line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(out, strings.Repeat(" ", indent)+line)
}
