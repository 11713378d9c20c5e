package cli

import (
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
	_, err := io.WriteString(w, untrusted.JSON(doc))
	return err
}

// tableTime is the format of times in a table, in UTC.
const tableTime = "2006-01-02 15:04:05"

// sheetColumn is a column of a CSV file.
type sheetColumn struct {
	head  string
	cells []csvcell.Cell // one a row
}

// table is a list for people, or CSV for spreadsheets and programs.
type table struct {
	head    []string
	right   map[int]bool                   // columns of numbers
	times   map[int]func(time.Time) string // columns of times as received, and how people see them
	columns map[int]field.Column           // widths where a terminal has little room
	key     int                            // the column that tells rows apart: whole in every terminal
	record  bool                           // one record: values continue on more lines
	rows    [][]string
	sheet   []sheetColumn // the columns of CSV; nil: the same
	empty   string        // printed if there are no rows
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
	t.head, t.rows = nil, make([][]string, len(items))
	t.key = max(slices.IndexFunc(columns, func(c present.Column[T]) bool { return c.ID }), 0)
	for i, c := range columns {
		head, cell := strings.ToUpper(c.Name), csvcell.Text
		t.head = append(t.head, head)
		if t.right[i], t.columns[i] = c.Align != present.Left, c.Column; t.right[i] {
			cell = csvcell.Number
		}
		if c.Time && c.Exact != nil {
			head = csvcell.Zoned(head)
		}
		sheet := sheetColumn{head: head}
		for k, item := range items {
			text := c.Cell(o, item).Text
			t.rows[k] = append(t.rows[k], text)
			if c.Exact != nil {
				text = c.Exact(item)
			}
			sheet.cells = append(sheet.cells, cell(text))
		}
		t.sheet = append(t.sheet, sheet)
	}
	return t
}

// extend adds a column to a table of fields; shown formats its cells if they are times.
func (t *table) extend(head string, cells []string, shown func(time.Time) string) {
	sheet := sheetColumn{head: head}
	if shown != nil {
		t.times[len(t.head)], sheet.head = shown, csvcell.Zoned(head)
	}
	t.head = append(t.head, head)
	for i, c := range cells {
		t.rows[i] = append(t.rows[i], c)
		cell := csvcell.Text(c)
		if at, err := time.Parse(time.RFC3339Nano, c); err == nil && shown != nil {
			cell = csvcell.Time(at)
		}
		sheet.cells = append(sheet.cells, cell)
	}
	t.sheet = append(t.sheet, sheet)
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

// csv prints the rows for a spreadsheet, without a byte order mark, which programs would take for a part of the first
// heading.
func (t *table) csv(w io.Writer) error {
	columns := t.sheet
	for i := 0; t.sheet == nil && i < len(t.head); i++ {
		c := sheetColumn{head: t.head[i]}
		for _, row := range t.rows {
			cell := csvcell.Text(row[i])
			if t.right[i] {
				cell = csvcell.Number(row[i])
			}
			c.cells = append(c.cells, cell)
		}
		columns = append(columns, c)
	}
	head := make([]string, len(columns))
	for i, c := range columns {
		head[i] = c.head
	}
	out, err := csvcell.New(w, false, head)
	for k := 0; k < len(t.rows) && err == nil; k++ {
		row := make([]csvcell.Cell, len(columns))
		for i, c := range columns {
			row[i] = c.cells[k]
		}
		err = out.Row(row)
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

// say prints a sentence for people to standard error, apart from data.
func (r *root) say(format string, args ...any) {
	fmt.Fprintln(r.env.Err, safeText(fmt.Sprintf(format, args...)))
}

// oneLine is s as one safe line.
func oneLine(s string) string { return untrusted.Text(s).Line(2000) }
