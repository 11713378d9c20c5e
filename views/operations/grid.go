package operations

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/note"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
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

// headSigns are the cells of the signs of cursor and order beside a heading.
const headSigns = 3

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
	order      index.TotalsOrder
	currencies []untrusted.Text // the one of most operations first; nil: the rows are currencies
	widths     []int            // of the widest sum of each currency, in cells
	name       int              // cells that the column of the names has at least
	rows       []gridRow
}

func newGrid(th *theme.Theme, by []index.By, all index.Group, order index.TotalsOrder) *grid {
	g := &grid{th: th, by: by, all: all, order: order}
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
	for _, c := range g.currencies {
		cell := ""
		if s := of.Sum(c); s != nil {
			cell, _ = format.Amount(money{c, s.Amount})
		}
		out.Cells = append(out.Cells, cell)
	}
	return out
}

// columns are those of the table. The currencies of fewest operations are left out
// first where there is no room; the cursor brings them.
func (g *grid) columns() []field.Layout {
	orders := g.orders()
	name, count := field.Layout{Title: g.heading(orders[0]), Min: g.name, Max: 44, Flex: 1},
		field.Layout{Title: "operations", Align: field.Right, Min: 10, HidePriority: 2}
	if g.currencies == nil {
		name.Flex = 0
		return []field.Layout{name, count, {Title: "amount paid", Align: field.Decimal, MaxNumberWidth: 60}}
	}
	out := []field.Layout{name, count}
	for i := range g.currencies {
		title := g.heading(orders[fixed+i])
		least := min(len(title), 14) + headSigns
		out = append(out, field.Layout{Title: title, Align: field.Decimal,
			Min: max(least, min(g.widths[i], leastNumber)), HidePriority: 3 + i, MaxNumberWidth: mostNumber})
	}
	out[fixed].HidePriority = 1 // the first one stays longest
	return out
}

// orders are those that the rows can have: one for each column.
func (g *grid) orders() []index.TotalsOrder {
	out := []index.TotalsOrder{{Sort: index.Sort{Field: index.TotalsGroup}},
		{Sort: index.Sort{Field: index.TotalsOperations}}}
	for _, c := range g.currencies {
		out = append(out, index.TotalsOrder{Sort: index.Sort{Field: index.TotalsSum}, Currency: c})
	}
	if g.currencies == nil && len(g.by) > 1 { // within each currency
		out = append(out, index.TotalsOrder{Sort: index.Sort{Field: index.TotalsSum}})
	}
	return out
}

// heading is the heading of the column that an order is by.
func (g *grid) heading(o index.TotalsOrder) string {
	switch {
	case o.Field == index.TotalsOperations:
		return "operations"
	case o.Field == index.TotalsGroup:
		return strings.Join(words(g.by), ", ")
	case g.currencies == nil:
		return "amount paid"
	}
	return cmp.Or(draw.Line(o.Currency, 12), "?") + " paid"
}

// sorted is the column of the order; -1 if there is none.
func (g *grid) sorted() int {
	o := g.order
	o.Desc = false
	return slices.Index(g.orders(), o)
}

// words are groupings as people read them.
func words(by []index.By) []string {
	var out []string
	for _, b := range by {
		out = append(out, string(b))
	}
	return out
}

// lay gives the table room.
func (g *grid) lay(t *widget.Table, w, h int) {
	t.Cursor.Columns.SetSort(g.sorted(), g.order.Desc)
	t.SetCell(max(t.Cursor.Columns.At(), 0))
	t.SetSize(w, h)
	t.Measure()
}

// hidden is how many currencies have no room.
func (g *grid) hidden(t *widget.Table) int {
	n := 0
	for i := range g.currencies {
		if t.Cursor.Columns.Width(fixed+i) == 0 {
			n++
		}
	}
	return n
}

// cell is the row and the currency under the cursor; nil for all currencies.
func (g *grid) cell(t *widget.Table) (r gridRow, currency *untrusted.Text) {
	if len(g.rows) == 0 {
		return gridRow{}, nil
	}
	if at := t.Cursor.Columns.At() - fixed; at >= 0 && at < len(g.currencies) {
		currency = &g.currencies[at]
	}
	return g.rows[max(g.IndexOf(t.Cursor.SelectedID()), 0)], currency
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

// Below implements list.Screen: the columns to choose from, or the totals.
func (s *Screen) Below() []string {
	w, h := s.W, s.H
	if s.columns.chooser != nil {
		s.Table.Measure() // their widths are shown
		return s.columns.chooserLines(w, s.columns.chooserHeight())
	}
	return s.totals.panelLines(w, s.totals.panelHeight(h))
}

// Drawn implements ui.Drawer: the cursor may be in what is below.
func (s *Screen) Drawn() ui.Drawn {
	d := s.List.Drawn()
	h := s.H
	switch {
	case s.Page != nil:
	case s.columns.chooser != nil:
		n := s.columns.chooserHeight()
		d.Cursors = append(d.Cursors, h-n+2+s.columns.chooser.at-s.columns.chooserFrom(n))
	case s.totals.panel.focus:
		n := s.totals.panelHeight(h)
		d.Cursors = append(d.Cursors, h-n+s.totals.panelHead(n)+s.totals.panel.table.Cursor.CursorLine())
	}
	return d
}

// HeadLines implements list.Screen: the line that says what is shown, with numbers of
// the row under the cursor for which the table has no room.
func (s *Screen) HeadLines() []string {
	th, gap, view := s.env.Theme, "  ", ""
	if th.Linear {
		gap = ", "
	}
	if name := s.views.viewName(); name != "" {
		view = th.Dim.Render(gap+"view ") + th.Accent.Render(draw.Cut(name, 30))
	}
	if p := s.loader.progress(); p != "" && s.Doing == "" && s.loader.readSoFar() == "" {
		view += th.Dim.Render(gap + strings.TrimSuffix(p, "."))
	}
	lines := s.Head(s.loader.counted(), view)
	if s.loader.lost != "" && s.loader.rows.Len() > 0 {
		lines = append(lines, th.Warn.Render(draw.Cut(s.loader.lost, s.W)))
	}
	if s.loader.lacks.Rows > 0 {
		lines = append(lines, th.Warn.Render(draw.Cut(s.loader.lacks.String(), s.W)))
	}
	if len(s.loader.noted) > 0 {
		lines = append(lines, th.Dim.Render(draw.Cut(s.loader.noteLine(), s.W)))
	}
	return lines
}

// noteLine is the note by which the filter finds the row under the cursor, else how many notes it finds rows by.
func (s *loader) noteLine() string {
	op, _ := s.rows.Find(s.list.Table.Cursor.SelectedID())
	if n, ok := note.Of(op, s.noted); ok {
		return present.NoteFound(s.env.Present(), n)
	}
	return format.Plural(len(s.noted), "note contains", "notes contain") + " words of the filter."
}

// mixed reports whether the list is sorted by amounts of several currencies.
func (s *loader) mixed() bool {
	return s.order().Mixed(slices.Values(s.rows.Shown()), s.sums)
}

// counted is the summary, with a warning if the index does not hold all operations. The header says how old they are.
func (s *loader) counted() string {
	th, some := s.env.Theme, s.readSoFar()
	switch {
	case th.Linear && s.known():
		return s.fresh.Says(s.env.Now(), s.env.Zone())
	case th.Linear && some != "":
		return s.summary() + ", attention: " + some
	case some != "" && s.list.Filter.Shown.Empty():
		return th.Warn.Render(some)
	case some != "":
		some = th.Warn.Render("  " + some)
	}
	return th.Strong.Render(s.summary()) + some
}

// known reports whether the list is all that the index holds, which is all of the service's.
func (s *loader) known() bool {
	return s.list.Loaded && s.list.Err == nil && s.list.Filter.Shown.Empty() &&
		s.fresh.Complete && int(s.fresh.Rows) == s.rows.Len()
}

// summary says how many operations there are.
func (s *loader) summary() string {
	switch {
	case !s.list.Loaded || s.unread() || s.list.Err != nil && s.rows.Len() == 0: // how many is not known
		return "operations"
	case s.more && s.list.Filter.Shown.Empty():
		return format.Count(s.rows.Len()) + " or more operations"
	case s.more:
		return format.Count(s.rows.Len()) + " or more operations match"
	case !s.list.Filter.Shown.Empty():
		return format.Plural(s.rows.Len(), "operation matches", "operations match")
	}
	return format.Plural(s.rows.Len(), "operation", "operations") + s.fresh.Late(s.env.Now(), s.env.Zone())
}
