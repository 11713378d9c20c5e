package cli

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"opdeck/api/untrusted"
	"opdeck/internal/host/csvcell"
)

func safeText(s string) string {
	lines := untrusted.Text(s).Block(50, 2000)
	return strings.Join(lines, "\n")
}

// printJSON writes v as indented JSON. Control characters are escaped by the
// encoder; direction and other format characters are escaped here, so that a
// terminal that shows the output is safe too. The JSON stays equal.
func (r *root) printJSON(v any) error {
	return r.encode(r.env.Out, v, "  ")
}

// printLine writes v as one line of JSON.
func (r *root) printLine(v any) error {
	return r.encode(r.env.Out, v, "")
}

func (r *root) encode(w io.Writer, v any, indent string) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	s := b.String()
	_, err := io.WriteString(w, escapeFormat(s))
	return err
}

// escapeFormat writes every character that could act on a terminal as a JSON
// escape. In JSON text such characters stand in strings only.
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

// table is a list for people, or CSV for programs.
type table struct {
	head  []string
	right map[int]bool // columns of numbers
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write prints aligned columns; the last one is not padded. Cells must be safe.
func (t *table) write(w io.Writer) error {
	width := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, c := range row {
			width[i] = max(width[i], ansi.StringWidth(c))
		}
	}
	var b strings.Builder
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, c := range row {
			gap := strings.Repeat(" ", width[i]-ansi.StringWidth(c))
			switch {
			case t.right[i]:
				b.WriteString(gap + c)
			case i == len(row)-1:
				b.WriteString(c)
			default:
				b.WriteString(c + gap)
			}
			if i < len(row)-1 {
				b.WriteString("  ")
			}
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// csv prints the rows for a spreadsheet, in which no text is a formula and numbers
// stay numbers.
func (t *table) csv(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.Write(t.head); err != nil {
		return err
	}
	for _, row := range t.rows {
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

// list prints items in the chosen form: whole is the JSON of the list, each the
// JSON of one item.
func (r *root) list(t *table, whole any, each []any) error {
	switch r.output {
	case "json":
		return r.printJSON(whole)
	case "jsonl":
		for _, v := range each {
			if err := r.printLine(v); err != nil {
				return err
			}
		}
		return nil
	case "csv":
		return t.csv(r.env.Out)
	}
	if len(t.rows) == 0 {
		_, err := fmt.Fprintln(r.env.Err, "Nothing to list.")
		return err
	}
	return t.write(r.env.Out)
}

// say writes a sentence for people to standard error, where it disturbs no data.
func (r *root) say(format string, args ...any) {
	fmt.Fprintln(r.env.Err, safeText(fmt.Sprintf(format, args...)))
}

// toAny turns a list into JSON values.
func toAny[T any](items []T) []any {
	out := make([]any, len(items))
	for i := range items {
		out[i] = items[i]
	}
	return out
}

// oneLine is s as one safe line.
func oneLine(s string) string { return untrusted.Text(s).Line(2000) }
