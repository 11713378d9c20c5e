package cli

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"opdeck/internal/app"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui/draw"
)

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

// listTime formats times of a column: as the screens' lists do, or to the second, in UTC, where no zone is given.
func listTime(o present.Options, c field.Column) func(time.Time) string {
	switch {
	case o.Zone == nil:
		return func(t time.Time) string { return t.UTC().Format(tableTime) }
	case c.Age:
		return func(t time.Time) string {
			ago, _ := format.Ago(t, o.Now)
			return ago
		}
	}
	return func(t time.Time) string { return format.Minute(t, o.Zone) }
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
		row = slices.Clone(row)
		for i, shown := range t.times {
			if at, err := time.Parse(time.RFC3339Nano, row[i]); err == nil {
				row[i] = shown(at)
			}
		}
		all = append(all, row)
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

// line writes a row in these columns. A record's value continues below itself.
func (t *table) line(b *strings.Builder, row []string, cols []fitted, width int) {
	for n, col := range cols {
		cell := t.cut(row[col.index], col)
		switch {
		case t.right[col.index]:
			cell = draw.PadLeft(cell, col.width)
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
	return i != t.key && !t.right[i] && t.times[i] == nil && !t.columns[i].Whole && !t.columns[i].Signed
}

// taken is the width of a row.
func taken(cols []fitted) int {
	n := -len(columnGap)
	for _, c := range cols {
		n += c.width + len(columnGap)
	}
	return n
}
