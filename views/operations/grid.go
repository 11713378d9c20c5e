package operations

import (
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/format"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// mostNumber is how wide a sum may be while others are beside it; a wider one is
// said in full below the table when the cursor is on it.
const mostNumber = 24

// leastNumber is how much of such a sum is shown at least.
const leastNumber = 14

// leastName is how much of a group's name is shown at least.
const leastName = 24

// fixed is how many columns of the grid are before those of the sums.
const fixed = 2

// gridRow is one group of the totals: of the first grouping, or within one.
type gridRow struct {
	id     string
	groups []index.Group // itself last; none: everything
	all    string        // names everything
}

func (r gridRow) group(all index.Group) index.Group {
	if len(r.groups) == 0 {
		return all
	}
	return r.groups[len(r.groups)-1]
}

// everything names the row of all groups of a grouping.
var everything = map[index.By]string{index.ByStatus: "all statuses", index.ByType: "all types",
	index.ByPayment: "all payment types", index.ByCurrency: "all currencies", index.ByCustomer: "all customers",
	index.ByCounterparty: "all counterparties", index.ByDay: "all days", index.ByWeek: "all weeks",
	index.ByMonth: "all months"}

// allOf names the row of everything in a grid of these groupings.
func allOf(by []index.By) string {
	if len(by) == 0 {
		return everything[index.ByCurrency]
	}
	return everything[by[0]]
}

// label names the row; one within another is indented.
func (r gridRow) label() string {
	if len(r.groups) == 0 {
		return r.all
	}
	return strings.Repeat("  ", len(r.groups)-1) + r.groups[len(r.groups)-1].Label()
}

// path names the row and what it lies in.
func (r gridRow) path() string {
	if len(r.groups) == 0 {
		return r.all
	}
	var out []string
	for _, g := range r.groups {
		out = append(out, g.Label())
	}
	return strings.Join(out, ", ")
}

// grid is the totals as rows of groups and columns of currencies. It implements
// widget.Source.
type grid struct {
	th         *theme.Theme
	by         []index.By
	all        index.Group
	currencies []untrusted.Text // the one of most operations first; nil: the rows are currencies
	widths     []int            // of the widest sum of each currency, in cells
	name       int              // cells that the column of the names has at least
	first      int              // of the currencies that are drawn
	at         int              // the column of the cursor: 0 is all currencies
	rows       []gridRow
}

func newGrid(th *theme.Theme, by []index.By, all index.Group) *grid {
	g := &grid{th: th, by: by, all: all}
	if len(by) == 0 || by[0] != index.ByCurrency {
		for _, s := range all.Sums {
			g.currencies = append(g.currencies, s.Currency)
		}
		g.rows = append(g.rows, gridRow{id: "all", all: allOf(by)})
	}
	g.add(all, nil)
	g.widths, g.name = make([]int, len(g.currencies)), 10
	for _, r := range g.rows {
		g.name = max(g.name, min(draw.Width(r.label()), leastName))
		of := r.group(all)
		for i, c := range g.currencies {
			if s := of.Sum(c); s != nil {
				sum, _ := format.Amount(money{c, s.Amount})
				g.widths[i] = max(g.widths[i], draw.Width(sum))
			}
		}
	}
	return g
}

// add puts the parts of a group behind what is there.
func (g *grid) add(of index.Group, within []index.Group) {
	for _, part := range of.Parts {
		path := append(slices.Clip(within), part)
		var id strings.Builder
		for _, p := range path {
			id.WriteString("\x00" + string(p.Key) + "\x00" + string(p.Name))
		}
		g.rows = append(g.rows, gridRow{id: id.String(), groups: path})
		g.add(part, path)
	}
	if of.More > 0 {
		rest := index.Group{Key: untrusted.Text("… " + format.Plural(of.More, "more group", "more groups"))}
		g.rows = append(g.rows, gridRow{id: "more" + format.Count(len(g.rows)),
			groups: append(slices.Clip(within), rest)})
	}
}

// Len implements widget.Source.
func (g *grid) Len() int { return len(g.rows) }

// IndexOf implements widget.Source.
func (g *grid) IndexOf(id string) int {
	return slices.IndexFunc(g.rows, func(r gridRow) bool { return r.id == id })
}

// Row implements widget.Source.
func (g *grid) Row(i int) widget.Row {
	r := g.rows[i]
	of := r.group(g.all)
	out := widget.Row{ID: r.id, Cells: []string{r.label(), format.Count(int(of.Count))}}
	if of.Count == 0 {
		out.Cells[1] = ""
	}
	if of.Bad() > 0 {
		out.Sign, out.Tone = g.th.Signs.Warn, theme.Warn
	}
	if g.currencies == nil {
		for _, s := range of.Sums {
			out.Cells = append(out.Cells, format.Money(money{s.Currency, s.Amount}))
		}
		return out
	}
	for _, c := range g.currencies[g.first:] {
		cell := ""
		if s := of.Sum(c); s != nil {
			cell, _ = format.Amount(money{c, s.Amount})
		}
		out.Cells = append(out.Cells, cell)
	}
	out.Tones = make([]theme.Tone, len(out.Cells))
	if at := g.column(); at > 0 {
		out.Tones[at] = theme.Accent
	}
	return out
}

// column is the column of the cursor among those of the table; 0: of the group.
func (g *grid) column() int {
	if g.at == 0 {
		return 0
	}
	return fixed + g.at - 1 - g.first
}

// columns are those of the table. The currencies of fewest operations are left out
// first where there is no room; the cursor brings them.
func (g *grid) columns(focus bool) []widget.Column {
	name, count := widget.Column{Title: strings.Join(words(g.by), ", "), Min: g.name, Max: 44, Flex: 1},
		widget.Column{Title: "operations", Align: widget.Right, Min: 10, HidePriority: 2}
	if g.currencies == nil {
		name.Flex = 0
		return []widget.Column{name, count, {Title: "amount paid", Align: widget.Decimal, MaxNumberWidth: 60}}
	}
	out := []widget.Column{name, count}
	for i, c := range g.currencies[g.first:] {
		title := draw.Line(c, 12)
		if title == "" {
			title = "(none)"
		}
		title += " paid"
		if focus && g.at-1 == g.first+i {
			title = "[" + title + "]"
		}
		hide := 3 + i
		if i == max(g.at-1-g.first, 0) { // the one under the cursor stays longest
			hide = 1
		}
		out = append(out, widget.Column{Title: title, Align: widget.Decimal,
			Min: max(min(len(title), 14), min(g.widths[g.first+i], leastNumber)), HidePriority: hide,
			MaxNumberWidth: mostNumber})
	}
	return out
}

// words are groupings as people read them.
func words(by []index.By) []string {
	var out []string
	for _, b := range by {
		out = append(out, string(b))
	}
	return out
}

// lay gives the table room; the column of the cursor is always drawn.
func (g *grid) lay(t *widget.Table, w, h int, focus bool) {
	g.first = 0
	for {
		t.SetColumns(g.columns(focus)...)
		t.SetSource(g)
		t.SetSize(w, h)
		t.Measure()
		if g.at == 0 || g.first >= g.at-1 || t.Width(g.column()) > 0 {
			return
		}
		g.first++
	}
}

// whole gives the table all columns, to be said.
func (g *grid) whole(t *widget.Table) {
	g.first = 0
	t.SetColumns(g.columns(false)...)
	t.SetSource(g)
}

// hidden is how many currencies have no room.
func (g *grid) hidden(t *widget.Table) int {
	n := g.first
	for i := range len(g.currencies) - g.first {
		if t.Width(fixed+i) == 0 {
			n++
		}
	}
	return n
}

// move moves the cursor over the columns.
func (g *grid) move(by int) { g.at = max(min(g.at+by, len(g.currencies)), 0) }

// cell is the row and the currency under the cursor; nil for all currencies.
func (g *grid) cell(t *widget.Table) (r gridRow, currency *untrusted.Text) {
	if len(g.rows) == 0 {
		return gridRow{}, nil
	}
	if g.at > 0 && g.at <= len(g.currencies) {
		currency = &g.currencies[g.at-1]
	}
	return g.rows[max(g.IndexOf(t.SelectedID()), 0)], currency
}

// terms are the filter of a cell; why says that the language has none for it.
func (g *grid) terms(r gridRow, currency *untrusted.Text) (out []string, why string) {
	for i, of := range r.groups {
		term := g.by[i].Term(of)
		if term == "" {
			return nil, "Cannot filter by “" + of.Label() + "”."
		}
		out = append(out, term)
	}
	if currency != nil {
		term := index.ByCurrency.Term(index.Group{Key: *currency})
		if term == "" {
			return nil, "Cannot filter by a missing currency."
		}
		out = append(out, term)
	}
	return out, ""
}

// sentence says a row in full.
func (g *grid) sentence(r gridRow) string {
	of := r.group(g.all)
	if of.Count == 0 {
		return r.path() + ", included in the sums but not listed: narrow the filter"
	}
	line := r.path() + ": " + format.Plural(int(of.Count), "operation", "operations")
	if n := of.Bad(); n > 0 { // before the sums, which are in the table: what is cut is their end
		line += ", attention: " + format.Count(int(n)) + " without a usable amount"
	}
	for _, s := range of.Sums {
		line += ", " + format.Money(money{s.Currency, s.Amount})
	}
	return line
}

// needsDetail reports whether the table does not say all of the cell under the cursor.
func (g *grid) needsDetail(t *widget.Table) bool {
	r, _ := g.cell(t)
	return g.currencies != nil || r.group(g.all).Bad() > 0
}

// detail says the cell under the cursor in full: in the table it may be too wide.
func (g *grid) detail(t *widget.Table) string {
	r, currency := g.cell(t)
	of, where := r.group(g.all), ": "+r.path()
	if g.currencies == nil && len(of.Sums) == 1 && len(g.rows) > 0 { // the row is the currency
		currency, where = &of.Sums[0].Currency, ""
	}
	if currency == nil {
		return g.sentence(r)
	}
	s := of.Sum(*currency)
	if s == nil {
		return r.path() + ": no amounts in this currency"
	}
	line := format.Money(money{s.Currency, s.Amount}) + " in " + format.Plural(int(s.Count), "operation", "operations")
	if s.Bad > 0 {
		line += ", " + format.Count(int(s.Bad)) + " without a usable amount"
	}
	return line + where
}

// money makes a sum drawable by the one way to draw money.
type money struct {
	code untrusted.Text
	sum  *apd.Decimal
}

func (m money) Currency() untrusted.Text       { return m.code }
func (m money) Empty() bool                    { return false }
func (m money) Decimal() (*apd.Decimal, error) { return m.sum, nil }

func date(t time.Time) string { return t.Format(time.DateOnly) }

// widestBar is how many cells a bar of the chart has where there are few.
const widestBar = 6

// chart draws a timeline in w cells.
func chart(th *theme.Theme, line index.Timeline, w int) string {
	const edges = 10 + 2 + 2 + 10 + 10 // dates, unit and room beside the bars
	c := line.Chart(max(min(w-edges-18, 120), 8))
	if len(c.Bars) == 0 {
		return th.Dim.Render("no operation has a creation time")
	}
	wide := max(min((w-edges-18)/len(c.Bars), widestBar), 1)
	var counts []int
	for _, b := range c.Bars {
		counts = append(counts, slices.Repeat([]int{int(b.Count)}, wide)...)
	}
	out := th.Dim.Render(date(c.First)+"  ") + widget.Sparkline(th, counts, len(counts), theme.Info)
	if c.First != c.Last {
		out += th.Dim.Render("  " + date(c.Last))
	}
	return out + th.Dim.Render("  operations per "+c.Unit)
}

// chartSaid says a timeline.
func chartSaid(line index.Timeline) []string {
	c := line.Chart(12)
	if len(c.Bars) == 0 {
		return nil
	}
	span := "From " + date(c.First) + " to " + date(c.Last)
	if c.First == c.Last {
		span = "On " + date(c.First)
	}
	var parts []string
	layout := map[string]string{"hour": "2006-01-02 15:04", "month": "2006-01", "quarter": "2006-01",
		"year": "2006"}[c.Unit]
	for _, b := range c.Bars {
		at := date(b.Date)
		if layout != "" {
			at = b.Date.Format(layout)
		}
		parts = append(parts, at+" "+format.Count(int(b.Count)))
	}
	out := []string{span + ", by " + c.Unit + ": " + strings.Join(parts, ", ")}
	if line.Undated > 0 {
		out = append(out, format.Plural(int(line.Undated), "operation has", "operations have")+" no creation time")
	}
	return out
}
