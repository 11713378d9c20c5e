package cli

import (
	"cmp"
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opdeck/api/untrusted"
	"opdeck/internal/app"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/format/csvcell"
	"opdeck/internal/present"
	"opdeck/ui/draw"
)

// printed describes the JSON that a command prints: values of these types; nil for a format that it lacks.
type printed struct {
	when        string // the required flag; empty: none
	json, jsonl reflect.Type
	many        bool // several values, one after the other
}

// one prints values of T, which opdeck schema describes. A command can only print JSON with the printers that it was
// made with.
type one[T any] struct {
	r *root
	w io.Writer // nil: standard output
}

// many prints lists: W is the JSON of a whole list, T that of an item.
type many[W, T any] struct{ r *root }

// listOf prints plain lists of items.
type listOf[T any] = many[[]T, T]

// also gives cmd a printer of T, used if the flag when is given; "" is always.
func also[T any](r *root, cmd *cobra.Command, when string) one[T] {
	t := reflect.TypeFor[T]()
	r.printed[cmd] = append(r.printed[cmd], printed{when: when, json: t, jsonl: t})
	return one[T]{r: r}
}

// alsoLists is also for lists.
func alsoLists[W, T any](r *root, cmd *cobra.Command, when string) many[W, T] {
	r.printed[lists(cmd)] = append(r.printed[cmd], printed{when: when, json: reflect.TypeFor[W](),
		jsonl: reflect.TypeFor[T]()})
	return many[W, T]{r}
}

// prints makes a command with body that prints values of T.
func prints[T any](r *root, cmd *cobra.Command, body func(context.Context, *app.App, []string,
	one[T]) error) *cobra.Command {
	out := also[T](r, cmd, "")
	cmd.RunE = r.do(func(ctx context.Context, a *app.App, args []string) error { return body(ctx, a, args, out) })
	return cmd
}

// alone is prints for a command that opens neither config nor store.
func alone[T any](r *root, cmd *cobra.Command, body func(context.Context, []string, one[T]) error) *cobra.Command {
	out := also[T](r, cmd, "")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return body(cmd.Context(), args, out) }
	return cmd
}

// printsList makes a command with body that prints a list.
func printsList[W, T any](r *root, cmd *cobra.Command, body func(context.Context, *app.App, []string,
	many[W, T]) error) *cobra.Command {
	out := alsoLists[W, T](r, cmd, "")
	cmd.RunE = r.do(func(ctx context.Context, a *app.App, args []string) error { return body(ctx, a, args, out) })
	return cmd
}

// streams is prints for a command that prints values one after the other.
func streams[T any](r *root, cmd *cobra.Command, body func(context.Context, *app.App, []string,
	one[T]) error) *cobra.Command {
	prints(r, forms(cmd, "jsonl"), body)
	r.printed[cmd][0].many = true
	return cmd
}

// writes is prints for a command with a confirmation, see asks.
func writes[T any](r *root, cmd *cobra.Command, prepare func(context.Context, *app.App, []string, one[T]) (asked,
	error)) *cobra.Command {
	out := also[T](r, cmd, "")
	cmd.RunE = r.asks(func(ctx context.Context, a *app.App, args []string) (asked,
		error) {
		return prepare(ctx, a, args, out)
	})
	return cmd
}

// to returns a printer to w instead of standard output.
func (o one[T]) to(w io.Writer) one[T] { return one[T]{o.r, w} }

func (o one[T]) out() io.Writer {
	if o.w == nil {
		return o.r.env.Out
	}
	return o.w
}

// json prints v for programs.
func (o one[T]) json(v T) error {
	if o.r.output == "jsonl" {
		return o.line(v)
	}
	return o.r.encode(o.out(), v, true)
}

// line prints v as one line of JSON.
func (o one[T]) line(v T) error { return o.r.encode(o.out(), v, false) }

// card prints v as JSON for programs, and as a card for people.
func (o one[T]) card(v T, c *table) error {
	if o.r.output != "table" {
		return o.json(v)
	}
	return o.r.table(o.out(), c)
}

// report prints v as JSON for programs, and a sentence for people.
func (o one[T]) report(v T, format string, args ...any) error {
	if o.r.output != "table" {
		return o.json(v)
	}
	o.r.say(format, args...)
	return nil
}

// data prints v as JSON for programs, and a line of data for people.
func (o one[T]) data(v T, line string) error { return o.text(v, oneLine(line)+"\n") }

// text is data with several safe lines.
func (o one[T]) text(v T, lines string) error {
	if o.r.output != "table" {
		return o.json(v)
	}
	_, err := io.WriteString(o.out(), lines)
	return err
}

// each is data for a stream: its JSON is one line too.
func (o one[T]) each(v T, line string) error {
	if o.r.output != "table" {
		return o.line(v)
	}
	return o.data(v, line)
}

// print prints a list in the chosen format; t is for people and spreadsheets.
func (o many[W, T]) print(whole W, items []T, t *table) error {
	r := o.r
	switch r.output {
	case "json":
		return r.encode(r.env.Out, whole, true)
	case "jsonl":
		for _, v := range items {
			if err := r.encode(r.env.Out, v, false); err != nil {
				return err
			}
		}
		return nil
	case "csv":
		return t.csv(r.env.Out)
	}
	if len(t.rows) == 0 {
		r.say("%s", t.empty)
		return nil
	}
	return r.table(r.env.Out, t)
}

// outputs are the values of --output.
var outputs = []string{"table", "json", "jsonl", "csv"}

// formsKey annotates a command with its formats besides table and json.
const formsKey = "opdeck.forms"

// lists marks a command that prints a list: it also has jsonl and csv.
func lists(cmd *cobra.Command) *cobra.Command { return forms(cmd, "jsonl", "csv") }

// forms marks a command that has these formats besides table and json.
func forms(cmd *cobra.Command, names ...string) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[formsKey] = strings.Join(names, " ")
	return cmd
}

// checkOutput returns an error for a format that does not exist or that the command lacks.
func (r *root) checkOutput(cmd *cobra.Command) error {
	want := r.output
	if !slices.Contains(outputs, want) {
		r.output = "table"
		return usage("--output must be table, json, jsonl or csv, not %q", want)
	}
	if want == "table" || want == "json" || slices.Contains(strings.Fields(cmd.Annotations[formsKey]), want) {
		return nil
	}
	if want == "csv" {
		r.output = "table"
	}
	return usage("%s has no %s; --output can be table or json here", path(cmd), want)
}

// wanted finds --output before the command line is parsed, so that its errors too have the requested format.
func wanted(args []string) string {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.ParseErrorsAllowlist.UnknownFlags = true
	f.StringP("context", "c", "", "") // its value may begin with o
	f.BoolP("help", "h", false, "")
	output := f.StringP("output", "o", "table", "")
	_ = f.Parse(args) // if parsing fails, use what came before
	if slices.Contains(outputs, *output) {
		return *output
	}
	return "table"
}

// helpCommand is opdeck help COMMAND; cobra's own does not report an unknown command as an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{Use: "help [COMMAND]", Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			cmd, err := found(c.Root(), args)
			if err != nil {
				return err
			}
			return cmd.Help()
		}}
}

// found is the command with this path.
func found(top *cobra.Command, words []string) (*cobra.Command, error) {
	cmd := top
	for _, word := range words {
		i := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) })
		if i < 0 {
			return nil, unknown(cmd, fmt.Sprintf("there is no command %q", strings.Join(words, " ")), word, available(cmd))
		}
		cmd = cmd.Commands()[i]
	}
	return cmd, nil
}

// columnGap is the gap between two columns.
const columnGap = "  "

// The least cells of a text in a terminal, before columns are left out.
const (
	leastText = 8
	leastName = 12
)

// options present records as the screens do at a terminal, in the person's time zone, and otherwise with times for
// programs, in UTC.
func (r *root) options(ctx context.Context, a *app.App) present.Options {
	return present.Options{Now: a.Now(), Zone: r.zone, Masked: mask.Needed(ctx)}
}

// zoneOf is the time zone of [ui] time_zone if a person reads the output; nil otherwise.
func (r *root) zoneOf(a *app.App) *time.Location {
	switch {
	case !r.env.OutTTY:
		return nil
	case a.Config.UI.TimeZone == "UTC":
		return time.UTC
	}
	return time.Local
}

// table prints t to w, in the width of the terminal if w is one. Columns that were left out are named to the person.
func (r *root) table(w io.Writer, t *table) error {
	width := 0
	if w == r.env.Out && r.env.OutTTY {
		width = r.env.OutWidth
	}
	left, err := t.write(w, width)
	if err == nil && len(left) > 0 {
		r.say("Not shown in this width: %s. -o csv has all columns.", strings.Join(left, ", "))
	}
	return err
}

// write prints aligned columns without padding after the last, in width cells (0: as wide as they are), and returns
// the headings of those that did not fit. Cells must be safe.
func (t *table) write(w io.Writer, width int) (left []string, err error) {
	all := [][]string{t.head}
	for _, row := range t.rows {
		all = append(all, slices.Clone(row))
	}
	for i, c := range t.columns {
		if c.Align == field.Decimal {
			alignPoints(all[1:], i)
		}
	}
	want := make([]int, len(t.head))
	for _, row := range all {
		for i, c := range row {
			want[i] = max(want[i], draw.Width(c))
		}
	}
	cols := t.fit(want, width)
	for i, name := range t.head {
		if !slices.ContainsFunc(cols, func(c fitted) bool { return c.index == i }) {
			left = append(left, name)
		}
	}
	var b strings.Builder
	for _, row := range all {
		t.line(&b, row, cols, width)
	}
	_, err = io.WriteString(w, b.String())
	return left, err
}

// alignPoints pads the numbers of a column, so that their decimal points are in line; what is not a number stays.
func alignPoints(rows [][]string, column int) {
	var numbers []string
	var of [][]string
	for _, row := range rows {
		if digits := strings.TrimPrefix(row[column], "-"); digits != "" && digits[0] >= '0' && digits[0] <= '9' {
			numbers, of = append(numbers, row[column]), append(of, row)
		}
	}
	for i, cell := range draw.Align(numbers) {
		of[i][column] = cell
	}
}

// line writes a row in these columns. A record's value continues below itself.
func (t *table) line(b *strings.Builder, row []string, cols []fitted, width int) {
	for n, col := range cols {
		cell := t.cut(row[col.index], col)
		switch {
		case t.right[col.index]:
			if cell = draw.PadLeft(cell, col.width); n == len(cols)-1 {
				cell = strings.TrimRight(cell, " ")
			}
		case n < len(cols)-1:
			cell = draw.Pad(cell, col.width)
		case t.record && width > 0:
			indent := width - col.width
			cell = strings.Join(draw.Wrap(row[col.index], col.width), "\n"+draw.Space(indent))
		}
		if n > 0 {
			b.WriteString(columnGap)
		}
		b.WriteString(cell)
	}
	b.WriteString("\n")
}

// cut is a cell in the width of its column: a cut one has an ellipsis.
func (t *table) cut(cell string, col fitted) string {
	switch c := t.columns[col.index]; {
	case draw.Width(cell) <= col.width:
		return cell
	case c.ID:
		return draw.ID(cell, col.width)
	case c.CutMiddle:
		return draw.Middle(cell, col.width)
	}
	return draw.Cut(cell, col.width)
}

// fitted is a column that is printed, and its width.
type fitted struct{ index, width int }

// fit returns the columns that are printed in width cells. Texts shrink; then columns are left out in the order of
// the screens, the last first; what remains is given to the narrowest texts that are cut.
func (t *table) fit(want []int, width int) []fitted {
	cols := make([]fitted, len(want))
	for i, w := range want {
		cols[i] = fitted{i, w}
	}
	if width == 0 || taken(cols) <= width {
		return cols
	}
	if t.record {
		cols[1].width = max(width-cols[0].width-len(columnGap), 1)
		return cols
	}
	for i := range cols {
		if t.shrinks(i) {
			cols[i].width = min(want[i], min(max(t.columns[i].Min, leastText), leastName))
		}
	}
	for taken(cols) > width && len(cols) > 1 {
		others := slices.DeleteFunc(slices.Clone(cols), func(c fitted) bool { return c.index == t.key })
		out := slices.MaxFunc(others, func(a, b fitted) int {
			return cmp.Or(cmp.Compare(t.columns[a.index].HidePriority, t.columns[b.index].HidePriority),
				cmp.Compare(a.index, b.index))
		})
		cols = slices.DeleteFunc(cols, func(c fitted) bool { return c == out })
	}
	for spare := width - taken(cols); spare > 0; spare-- {
		least := -1
		for i, c := range cols {
			if c.width < want[c.index] && (least < 0 || c.width < cols[least].width) {
				least = i
			}
		}
		if least < 0 {
			break
		}
		cols[least].width++
	}
	return cols
}

// shrinks reports whether the column may be cut: numbers, times, status words and what tells rows apart may not.
func (t *table) shrinks(i int) bool {
	return i != t.key && !t.right[i] && !t.columns[i].Whole && !t.columns[i].Signed
}

// taken is the width of a row.
func taken(cols []fitted) int {
	n := -len(columnGap)
	for _, c := range cols {
		n += c.width + len(columnGap)
	}
	return n
}

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

// table is a list for people, or CSV for spreadsheets and programs.
type table struct {
	head    []string
	right   map[int]bool         // columns of numbers
	columns map[int]field.Layout // widths where a terminal has little room
	key     int                  // the column that tells rows apart: whole in every terminal
	record  bool                 // one record: values continue on more lines
	rows    [][]string
	heads   []string         // of CSV; nil: it has the same columns
	cells   [][]csvcell.Cell // of CSV, one list a row
	empty   string           // printed if there are no rows
}

// tabled is a table with these headings, separated by |.
func tabled(head string) *table {
	return &table{head: strings.Split(head, "|"), right: map[int]bool{},
		columns: map[int]field.Layout{}, empty: "Nothing to list."}
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
	t.head, t.rows, t.cells = nil, make([][]string, len(items)), make([][]csvcell.Cell, len(items))
	t.key = max(slices.IndexFunc(columns, func(c present.Column[T]) bool { return c.ID }), 0)
	for i, c := range columns {
		heading := strings.ToUpper
		if c.Name != strings.ToLower(c.Name) { // a name of the service's
			heading = oneLine
		}
		t.head = append(t.head, heading(c.Name))
		t.right[i], t.columns[i] = c.Align != field.Left, c.Layout
		for k, item := range items {
			t.rows[k] = append(t.rows[k], c.Cell(o, item).Text)
		}
		for _, s := range c.Sheet(o) {
			t.heads = append(t.heads, heading(s.Head))
			for k, item := range items {
				t.cells[k] = append(t.cells[k], s.Cell(item))
			}
		}
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

// csv prints the rows for a spreadsheet, without a byte order mark, which programs would take for a part of the first
// heading.
func (t *table) csv(w io.Writer) error {
	heads, rows := t.heads, t.cells
	if heads == nil {
		heads = t.head
		for _, row := range t.rows {
			cells := make([]csvcell.Cell, len(row))
			for i, c := range row {
				if cells[i] = csvcell.Text(c); t.right[i] {
					cells[i] = csvcell.Number(c)
				}
			}
			rows = append(rows, cells)
		}
	}
	out, err := csvcell.New(w, false, heads)
	for k := 0; k < len(rows) && err == nil; k++ {
		err = out.Row(rows[k])
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

// say prints a sentence for people to standard error, apart from data.
func (r *root) say(format string, args ...any) {
	r.tell("", safeText(fmt.Sprintf(format, args...)))
}

// tell prints safe lines to standard error, with words whole in the width of a terminal; first is before the first one.
func (r *root) tell(first, lines string) {
	if r.env.ErrTTY {
		lines = wrapped(lines, r.env.OutWidth-draw.Width(first))
		lines = strings.ReplaceAll(lines, "\n", "\n"+draw.Space(draw.Width(first)))
	}
	fmt.Fprintln(r.env.Err, first+lines)
}

// leastProse is the width, in cells, below which sentences are left to the terminal.
const leastProse = 30

// wrapped is lines broken at words in w cells.
func wrapped(lines string, w int) string {
	if w < leastProse {
		return lines
	}
	var out []string
	for line := range strings.SplitSeq(lines, "\n") {
		out = append(out, cmp.Or(strings.Join(draw.Wrap(line, w), "\n"), line))
	}
	return strings.Join(out, "\n")
}

// oneLine is s as one safe line.
func oneLine(s string) string { return untrusted.Text(s).Line(2000) }

// notNull is v with empty lists in place of nil ones, so that scripts can iterate over them; lists whose field has
// the tag `null:"unreported"` stay null, which means "not known". Types with an encoding of their own are unchanged.
func notNull(v any) any {
	if v == nil {
		return nil
	}
	return filled(reflect.ValueOf(v)).Interface()
}

var (
	marshals = reflect.TypeFor[json.Marshaler]()
	texts    = reflect.TypeFor[encoding.TextMarshaler]()
)

func filled(v reflect.Value) reflect.Value {
	t := v.Type()
	if p := reflect.PointerTo(t); p.Implements(marshals) || p.Implements(texts) {
		return v
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return filledList(v)
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeMapWithSize(t, v.Len())
		for k, e := range v.Seq2() {
			c.SetMapIndex(k, filled(e))
		}
		return c
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v
		}
		c := reflect.New(t).Elem()
		if t.Kind() == reflect.Interface {
			c.Set(filled(v.Elem()))
			return c
		}
		c.Set(reflect.New(t.Elem()))
		c.Elem().Set(filled(v.Elem()))
		return c
	case reflect.Struct:
		c := reflect.New(t).Elem()
		c.Set(v)
		fillFields(c)
		return c
	}
	return v
}

// fillFields fills the fields of a copied struct, including embedded ones.
func fillFields(c reflect.Value) {
	for i := range c.NumField() {
		switch f, v := c.Type().Field(i), c.Field(i); {
		case f.Anonymous && v.Kind() == reflect.Struct:
			fillFields(v)
		case f.IsExported() && (f.Tag.Get("null") == "" || !v.IsNil()):
			v.Set(filled(v))
		}
	}
}

// filledList is filled for a list. Bytes are text in JSON.
func filledList(v reflect.Value) reflect.Value {
	t := v.Type()
	if t.Kind() == reflect.Array || t.Elem().Kind() == reflect.Uint8 {
		return v
	}
	c := reflect.MakeSlice(t, v.Len(), v.Len())
	for i := range v.Len() {
		c.Index(i).Set(filled(v.Index(i)))
	}
	return c
}
