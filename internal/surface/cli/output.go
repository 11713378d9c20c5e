package cli

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"opdeck/api/untrusted"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/format/csvcell"
	"opdeck/internal/present"
)

func safeText(s string) string {
	lines := untrusted.Text(s).Block(50, 2000)
	return strings.Join(lines, "\n")
}

// encode writes v as JSON, on one line without indent; lists are as in notNull. The encoder escapes control
// characters; direction and other format characters are escaped here, so that a terminal with the output is safe too.
// The JSON value is unchanged. Commands print with a printer.
func (r *root) encode(w io.Writer, v any, indent bool) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(notNull(v)); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	doc := b.String()
	if indent {
		doc = string(format.Indent([]byte(doc))) + "\n"
	}
	_, err := io.WriteString(w, escapeFormat(doc))
	return err
}

// escapeFormat writes every character that could affect a terminal as a JSON escape. In JSON such characters occur
// only in strings.
func escapeFormat(s string) string {
	if c, f := untrusted.Clean(s, len(s)+1); f == 0 && len(c) == len(s) {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if c == '\n' || c >= 0x20 && c < 0x7f {
			b.WriteRune(c)
			continue
		}
		if _, f := untrusted.Clean(string(c), 2); f&(untrusted.Control|untrusted.Format|untrusted.Invalid) == 0 {
			b.WriteRune(c)
			continue
		}
		if c > 0xffff {
			c -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(c>>10), 0xdc00+(c&0x3ff))
			continue
		}
		fmt.Fprintf(&b, `\u%04x`, c)
	}
	return b.String()
}

// tableTime is the format of times in a table, in UTC.
const tableTime = "2006-01-02 15:04:05"

// table is a list for people, or CSV for programs.
type table struct {
	head    []string
	right   map[int]bool                   // columns of numbers
	times   map[int]func(time.Time) string // columns of times as received, and how people see them
	columns map[int]field.Column           // widths where a terminal has little room
	key     int                            // the column that tells rows apart: whole in every terminal
	record  bool                           // one record: values continue on more lines
	rows    [][]string
	exact   [][]string // the rows for programs; nil: the same
	empty   string     // printed if there are no rows
}

// tabled is a table with these headings, separated by |.
func tabled(head string) *table {
	return &table{head: strings.Split(head, "|"), right: map[int]bool{}, times: map[int]func(time.Time) string{},
		columns: map[int]field.Column{}, empty: "Nothing to list."}
}

// textSign is the character of a sign in the text of a command.
func textSign(s present.Sign) string {
	return map[present.Sign]string{present.SignGood: "✓", present.SignBad: "✗", present.SignWarn: "!",
		present.SignUnknown: "?"}[s]
}

// newCard is a table about one record.
func newCard() *table {
	t := tabled("FIELD|VALUE")
	t.record = true
	return t
}

// card is a table of all facts of a record.
func card(sections []present.Section) *table {
	t := newCard()
	for _, s := range sections {
		for _, f := range s.Facts {
			t.add(f.Key(), f.Value)
		}
	}
	return t
}

// listed is a table of records in these columns: people get the screens' cells, programs the exact values.
func listed[T any](o present.Options, columns []present.Column[T], items []T) *table {
	t := tabled("")
	t.head, t.exact = nil, [][]string{}
	for i, c := range columns {
		t.head = append(t.head, strings.ToUpper(c.Name))
		t.right[i], t.columns[i] = c.Align != present.Left, c.Column
	}
	t.key = max(slices.IndexFunc(columns, func(c present.Column[T]) bool { return c.ID }), 0)
	for _, item := range items {
		row, exact := make([]string, len(columns)), make([]string, len(columns))
		for i, c := range columns {
			row[i] = c.Cell(o, item).Text
			if exact[i] = row[i]; c.Exact != nil {
				exact[i] = oneLine(c.Exact(item))
			}
		}
		t.rows, t.exact = append(t.rows, row), append(t.exact, exact)
	}
	return t
}

// aligned is the text of a cell that stands to the right, as whole numbers do.
type aligned string

// add appends a row of safe cells: texts on one line, times in UTC, numbers right-aligned.
func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		switch c := c.(type) {
		case string:
			row[i] = oneLine(c)
		case int, int64:
			row[i], t.right[i] = fmt.Sprint(c), true
		case aligned:
			row[i], t.right[i] = oneLine(string(c)), true
		case bool:
			row[i] = format.YesNo(c)
		case time.Time:
			row[i] = c.UTC().Format(tableTime)
		case untrusted.Text:
			row[i] = c.Line(500)
		default:
			row[i] = oneLine(fmt.Sprint(c))
		}
	}
	t.rows = append(t.rows, row)
}

// fact appends a row of a card; empty values are omitted.
func (t *table) fact(label string, value any) {
	switch v := value.(type) {
	case time.Time:
		value = moment(v)
	case int, int64:
		value = fmt.Sprint(v)
	}
	if t.add(label, value); t.rows[len(t.rows)-1][1] == "" {
		t.rows = t.rows[:len(t.rows)-1]
	}
}

// none sets the sentence for an empty table.
func (t *table) none(sentence string) *table {
	t.empty = sentence
	return t
}

// csv prints the rows for a spreadsheet: no text is a formula, and numbers stay numbers.
func (t *table) csv(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.Write(t.head); err != nil {
		return err
	}
	rows := t.exact
	if rows == nil {
		rows = t.rows
	}
	for _, row := range rows {
		out := make([]string, len(row))
		for i, cell := range row {
			if out[i] = csvcell.Text(cell); t.right[i] {
				out[i] = csvcell.Number(cell)
			}
		}
		if err := c.Write(out); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// say prints a sentence for people to standard error, apart from data.
func (r *root) say(format string, args ...any) {
	fmt.Fprintln(r.env.Err, safeText(fmt.Sprintf(format, args...)))
}

// oneLine is s as one safe line.
func oneLine(s string) string { return untrusted.Text(s).Line(2000) }
