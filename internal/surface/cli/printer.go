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

// view is what a command prints: for programs the whole as JSON, or its items one a line; for people a card, a table or
// lines or both, and sentences behind them.
type view[W, T any] struct {
	whole W
	items []T
	facts []present.Fact
	table *table
	lines string // safe
	after []string
	exit  error // the exit code of a command that has an answer, and found something
}

// record is one value, and listOf a plain list.
type (
	record[T any] = view[T, T]
	listOf[T any] = view[[]T, T]
)

// value is v without anything for people.
func value[T any](v T) record[T] { return record[T]{whole: v, items: []T{v}} }

// card is v with all facts of it.
func card[T any](v T, sections ...present.Section) record[T] {
	out := value(v)
	for _, s := range sections {
		out.facts = append(out.facts, s.Facts...)
	}
	return out
}

// line is v with a line of data.
func line[T any](v T, data string) record[T] {
	out := value(v)
	out.lines = oneLine(data) + "\n"
	return out
}

// asJSON is v as JSON, for people too.
func asJSON[T any](v T) (out record[T], err error) {
	out = value(v)
	out.lines, err = jsonText(v, true)
	return out, err
}

// mapped is what each item becomes.
func mapped[A, B any](items []A, one func(A) B) []B {
	out := make([]B, len(items))
	for i, item := range items {
		out[i] = one(item)
	}
	return out
}

// list is a whole list, and its items in a table.
func list[W, T any](whole W, items []T, t *table) view[W, T] {
	return view[W, T]{whole: whole, items: items, table: t}
}

// items is a plain list.
func items[T any](all []T, t *table) listOf[T] { return list(all, all, t) }

// says adds a sentence for people.
func (v view[W, T]) says(format string, args ...any) view[W, T] {
	v.after = append(v.after, fmt.Sprintf(format, args...))
	return v
}

// also lets cmd print another kind of view, if the flag when is given; "" is always. opdeck schema describes it.
func also[W, T any](r *root, cmd *cobra.Command, when string) func(view[W, T]) error {
	r.printed[cmd] = append(r.printed[cmd], printed{when: when, json: reflect.TypeFor[W](), jsonl: reflect.TypeFor[T]()})
	return func(v view[W, T]) error { return show(r, v) }
}

// prints makes a command that prints the view that body returns; with an error the view is dropped.
func prints[W, T any](r *root, cmd *cobra.Command, body func(context.Context, *app.App, []string) (view[W, T],
	error)) *cobra.Command {
	out := also[W, T](r, cmd, "")
	cmd.RunE = r.do(func(ctx context.Context, a *app.App, args []string) error {
		v, err := body(ctx, a, args)
		if err != nil {
			return err
		}
		return out(v)
	})
	return cmd
}

// alone is prints for a command that opens neither config nor store.
func alone[T any](r *root, cmd *cobra.Command, body func(context.Context, []string) (record[T], error)) *cobra.Command {
	out := also[T, T](r, cmd, "")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		v, err := body(cmd.Context(), args)
		if err != nil {
			return err
		}
		return out(v)
	}
	return cmd
}

// sending does a confirmed write.
type sending[T any] func(context.Context) (record[T], error)

// writes is prints for a command with a confirmation, see asks.
func writes[T any](r *root, cmd *cobra.Command, prepare func(context.Context, *app.App, []string) (asked, sending[T],
	error)) *cobra.Command {
	out := also[T, T](r, cmd, "")
	cmd.RunE = r.asks(func(ctx context.Context, a *app.App, args []string) (asked, func(context.Context) error, error) {
		w, send, err := prepare(ctx, a, args)
		return w, func(ctx context.Context) error {
			v, err := send(ctx)
			if err != nil {
				return err
			}
			return out(v)
		}, err
	})
	return cmd
}

// show prints v in the chosen format.
func show[W, T any](r *root, v view[W, T]) error {
	err := error(nil)
	switch {
	case r.output == "json", r.output == "csv" && v.table == nil:
		err = r.encode(r.env.Out, v.whole, true)
	case r.output == "jsonl":
		for i := 0; i < len(v.items) && err == nil; i++ {
			err = r.encode(r.env.Out, v.items[i], false)
		}
	case r.output == "csv":
		err = v.table.csv(r.env.Out)
	case v.table != nil && len(v.table.rows) == 0:
		r.say("%s", v.table.empty)
	case v.table != nil:
		err = r.table(v.table)
	default:
		err = r.card(v.facts, v.lines)
	}
	for i := 0; i < len(v.after) && err == nil && r.output == "table"; i++ {
		r.say("%s", v.after[i])
	}
	if err == nil {
		err = v.exit
	}
	return err
}

// each prints one value of a stream: a line of JSON, or a line of data for people.
func (r *root) each(v any, data string) error {
	if r.output != "table" {
		return r.encode(r.env.Out, v, false)
	}
	_, err := io.WriteString(r.env.Out, oneLine(data)+"\n")
	return err
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
	return &cobra.Command{Use: "help [COMMAND]", Short: "Help about any command", Example: "  opdeck help operation list",
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

// width is that of the terminal, in cells; 0: the output is none.
func (r *root) width() int {
	if r.env.OutTTY {
		return r.env.OutWidth
	}
	return 0
}

// table prints t in the width of the terminal. Columns that were left out are named to the person.
func (r *root) table(t *table) error {
	left, err := t.write(r.env.Out, r.width())
	if err == nil && len(left) > 0 {
		r.say("Not shown in this width: %s. -o csv has all columns.", strings.Join(left, ", "))
	}
	return err
}

// card prints the facts of a record, and lines below them. A value that is too long continues below itself.
func (r *root) card(facts []present.Fact, lines string) error {
	if facts != nil {
		facts = append([]present.Fact{{Label: "FIELD", Value: "VALUE"}}, facts...)
	}
	wide := 0
	for _, f := range facts {
		wide = max(wide, draw.Width(oneLine(f.Key())))
	}
	var b strings.Builder
	for _, f := range facts {
		value, room := oneLine(f.Value), max(r.width()-wide-len(columnGap), 1)
		if r.width() > 0 && draw.Width(value) > room {
			value = strings.Join(draw.Wrap(value, room), "\n"+draw.Space(wide+len(columnGap)))
		}
		b.WriteString(draw.Pad(oneLine(f.Key()), wide) + columnGap + value + "\n")
	}
	_, err := io.WriteString(r.env.Out, b.String()+lines)
	return err
}

// write prints aligned columns without padding after the last, in width cells (0: as wide as they are), and returns
// the headings of those that did not fit. Cells must be safe.
func (t *table) write(w io.Writer, width int) (left []string, err error) {
	head := make([]string, len(t.columns))
	all := [][]string{head}
	for _, row := range t.rows {
		all = append(all, slices.Clone(row))
	}
	want := make([]int, len(head))
	for i, c := range t.columns {
		if head[i] = c.Title; c.Align == field.Decimal {
			alignPoints(all[1:], i)
		}
		for _, row := range all {
			want[i] = max(want[i], draw.Width(row[i]))
		}
	}
	cols := t.fit(want, width)
	for i, name := range head {
		if !slices.ContainsFunc(cols, func(c fitted) bool { return c.index == i }) {
			left = append(left, name)
		}
	}
	var b strings.Builder
	for _, row := range all {
		t.line(&b, row, cols)
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

// line writes a row in these columns.
func (t *table) line(b *strings.Builder, row []string, cols []fitted) {
	for n, col := range cols {
		cell := t.cut(row[col.index], col)
		switch {
		case t.columns[col.index].Align != field.Left:
			if cell = draw.PadLeft(cell, col.width); n == len(cols)-1 {
				cell = strings.TrimRight(cell, " ")
			}
		case n < len(cols)-1:
			cell = draw.Pad(cell, col.width)
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
	c := t.columns[i]
	return i != t.key && c.Align == field.Left && !c.Whole && !c.Signed
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

// encode writes v as JSON, on one line without indent. Commands print with a view.
func (r *root) encode(w io.Writer, v any, indent bool) error {
	doc, err := jsonText(v, indent)
	if err == nil {
		_, err = io.WriteString(w, doc)
	}
	return err
}

// jsonText is v as JSON; lists are as in notNull. The encoder escapes control characters; direction and other format
// characters are escaped here, so that a terminal with the output is safe too. The JSON value is unchanged.
func jsonText(v any, indent bool) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(notNull(v)); err != nil {
		return "", fmt.Errorf("output: %w", err)
	}
	doc := b.String()
	if indent {
		doc = string(format.Indent([]byte(doc))) + "\n"
	}
	return untrusted.JSON(doc), nil
}

// table is a list for people, or CSV for spreadsheets and programs.
type table struct {
	columns []field.Layout // with headings
	key     int            // the column that tells rows apart: whole in every terminal
	rows    [][]string
	heads   []string // of CSV
	cells   [][]csvcell.Cell
	empty   string // printed if there are no rows
}

// textSign is the character of a sign in the text of a command.
func textSign(s present.Sign) string {
	return map[present.Sign]string{present.SignGood: "✓", present.SignBad: "✗", present.SignWarn: "!",
		present.SignUnknown: "?"}[s]
}

// listed is a table of records in these columns: people get the screens' cells, programs the exact values.
func listed[T any](o present.Options, columns []present.Column[T], items []T) *table {
	t := &table{columns: make([]field.Layout, len(columns)), rows: make([][]string, len(items)),
		cells: make([][]csvcell.Cell, len(items)), empty: "Nothing to list."}
	t.key = max(slices.IndexFunc(columns, func(c present.Column[T]) bool { return c.ID }), 0)
	for i, c := range columns {
		heading := strings.ToUpper
		if c.Name != strings.ToLower(c.Name) { // a name of the service's
			heading = oneLine
		}
		t.columns[i] = c.Layout
		t.columns[i].Title = heading(c.Name)
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

// none sets the sentence for an empty table.
func (t *table) none(sentence string) *table {
	t.empty = sentence
	return t
}

// csv prints the rows for a spreadsheet, without a byte order mark, which programs would take for a part of the first
// heading.
func (t *table) csv(w io.Writer) error {
	out, err := csvcell.New(w, false, t.heads)
	for k := 0; k < len(t.cells) && err == nil; k++ {
		err = out.Row(t.cells[k])
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
	c := reflect.New(t).Elem()
	switch kind := t.Kind(); {
	case kind == reflect.Slice && t.Elem().Kind() != reflect.Uint8: // bytes are text in JSON
		c = reflect.MakeSlice(t, v.Len(), v.Len())
		for i := range v.Len() {
			c.Index(i).Set(filled(v.Index(i)))
		}
	case kind == reflect.Map && !v.IsNil():
		c = reflect.MakeMapWithSize(t, v.Len())
		for k, e := range v.Seq2() {
			c.SetMapIndex(k, filled(e))
		}
	case kind == reflect.Interface && !v.IsNil():
		c.Set(filled(v.Elem()))
	case kind == reflect.Pointer && !v.IsNil():
		c.Set(reflect.New(t.Elem()))
		c.Elem().Set(filled(v.Elem()))
	case kind == reflect.Struct:
		c.Set(v)
		fillFields(c)
	default:
		return v
	}
	return c
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
