package operations

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/list"
	"opdeck/ui/widget"
)

// pages are the groupings that the key of the totals goes through; a day becomes a
// week or a month where the span is long.
var pages = []index.By{index.ByCurrency, index.ByStatus, index.ByType, index.ByCustomer, index.ByCounterparty,
	index.ByDay}

// tabs are the pages' names.
var tabs = []string{"by currency", "by status", "by type", "by customer", "by counterparty", "by day"}

const (
	mostGroups = 500 // of a page, and within each group
	smallPanel = 8   // lines below which the totals draw no chart
)

// panel shows exact totals of what is filtered: groups by currencies.
type panel struct {
	page   int      // from 1; 0: closed
	within index.By // the second grouping; empty: none
	focus  bool     // the cursor is in the totals
	before []before // filters before cells were opened, the last one last
	order  index.TotalsOrder

	table  *widget.Table
	grid   *grid
	line   index.Timeline
	marked int // that many marked operations are added up; 0: all that are shown
	err    error
	ready  bool
}

// before is a filter as it was shown.
type before struct {
	expr filter.OperationExpr
	text string
}

func (p panel) open() bool { return p.page > 0 }

// next is what the key that opened the panel shows next.
func (p panel) next() string {
	if p.page == len(pages) {
		return "close"
	}
	return tabs[p.page]
}

// totalsPanel shows exact totals of what is filtered.
type totalsPanel struct {
	shared
	jobs *jobs

	panel panel
	sums  *ui.Requests // totals and groups
}

// nextPanel opens the totals, then each grouping, then closes.
func (s *totalsPanel) nextPanel() tea.Cmd {
	p := &s.panel
	if p.page = (p.page + 1) % (len(pages) + 1); p.page == 0 {
		s.closePanel()
		return nil
	}
	p.ready, p.grid, p.order = false, nil, index.TotalsOrder{}
	if p.table == nil {
		p.table = widget.NewTable(s.env.Theme, s.env.Keys, false)
	}
	p.table.Restart()
	if p.within == pages[p.page-1] {
		p.within = ""
	}
	return s.refreshPanel()
}

func (s *totalsPanel) closePanel() {
	s.panel = panel{}
	s.list.Table.Cursor.Blur(false)
	s.sums.Stop()
}

// refreshPanel computes what the open panel shows of the present filter.
func (s *totalsPanel) refreshPanel() tea.Cmd {
	if !s.panel.open() {
		s.sums.Stop()
		return nil
	}
	var q filter.OperationExpr
	q, s.panel.marked = s.loader.meant()
	ix, page, within, order, th := s.loader.index, s.panel.page, s.panel.within, s.panel.order, s.env.Theme
	most := mostGroups
	if order.Field != "" { // the first by another order
		most = 0
	}
	return s.env.Read(s.sums, func(ctx context.Context) ui.Then {
		var line index.Timeline
		var all index.Group
		var by []index.By
		err := ix.Consistent(ctx, func(ix Index) (err error) {
			if line, err = ix.Timeline(ctx, q); err == nil {
				by = groupings(pages[page-1], within, line)
				all, err = ix.Totals(ctx, q, by, most)
			}
			return err
		})
		all.Arrange(by, order, mostGroups)
		g := newGrid(th, by, all, order)
		return func() (ui.Action, tea.Cmd) {
			p := &s.panel
			p.ready, p.err, p.grid, p.line = true, err, g, line
			p.table.SetColumns(g.columns()...)
			p.table.SetSource(g)
			return nil, nil
		}
	})
}

// groupings are those of a page: days become weeks or months where they would be many.
func groupings(page, within index.By, line index.Timeline) []index.By {
	fits := func(b index.By) index.By {
		if n := len(line.Days); b == index.ByDay && n > 0 {
			switch span := line.Days[n-1].Date.Sub(line.Days[0].Date); {
			case span > 366*24*time.Hour:
				return index.ByMonth
			case span > 62*24*time.Hour:
				return index.ByWeek
			}
		}
		return b
	}
	out := []index.By{fits(page)}
	if within != "" && within != page {
		out = append(out, fits(within))
	}
	return out
}

// panelKey takes a key for the totals; ok is false when it is one of the list.
func (s *totalsPanel) panelKey(msg keymap.Press) (action ui.Action, cmd tea.Cmd, ok bool) {
	k, p := s.env.Keys, &s.panel
	switch {
	case k.Global.Pane.Match(msg) || k.Global.PaneBack.Match(msg):
		s.focusPanel(!p.focus)
		return ui.Handled{}, nil, true
	case k.Totals.Within.Match(msg):
		return s.chooseWithin(), nil, true
	case k.Global.Back.Match(msg) && len(p.before) > 0:
		last := p.before[len(p.before)-1]
		p.before = p.before[:len(p.before)-1]
		s.list.Filter.Show(last.expr, last.text)
		s.loader.restart = true
		return ui.Handled{}, s.loader.filtered(false), true
	case !p.focus || p.grid == nil:
		return nil, nil, false
	case k.Global.Back.Match(msg) || k.Global.Quit.Match(msg):
		s.focusPanel(false)
		return ui.Handled{}, nil, true
	case k.Totals.Left.Match(msg):
		p.turn(k.List.Left)
	case k.Totals.Right.Match(msg):
		p.turn(k.List.Right)
	case k.List.Sort.Match(msg):
		action, cmd = s.sortTotals()
		return action, cmd, true
	case k.List.Open.Match(msg):
		action, cmd = s.openCell()
		return action, cmd, true
	case k.Operations.Export.Match(msg):
		return s.jobs.unlessBusy(s.askExportTotals), nil, true
	default:
		return nil, nil, p.table.Update(msg)
	}
	return ui.Handled{}, nil, true
}

// turn moves the cursor over the columns of the currencies.
func (p *panel) turn(key keymap.Key) {
	p.table.Update(key.Msg())
	for at := p.table.Cursor.Columns.At(); at >= 0 && at < min(fixed, len(p.grid.currencies)); {
		p.table.Update(key.Msg())
		at = p.table.Cursor.Columns.At()
	}
}

// focusPanel gives the cursor to the totals, or back to the list.
func (s *totalsPanel) focusPanel(on bool) {
	s.panel.focus = on
	s.panel.table.Cursor.Columns.LeaveColumn()
	s.list.Table.Cursor.Blur(on)
}

// Select implements ui.Selecter: in the table that has the cursor.
func (s *Screen) Select(id string) bool {
	if s.totals.panel.focus && s.totals.panel.grid != nil {
		return s.totals.panel.table.Cursor.Select(id)
	}
	return s.List.Select(id)
}

// sortTotals sorts by the currency under the cursor, in reverse if they are already; else it offers all orders.
func (s *totalsPanel) sortTotals() (ui.Action, tea.Cmd) {
	p := &s.panel
	next := func(o index.TotalsOrder) index.TotalsOrder {
		if o.Desc = o.Field != index.TotalsGroup; o == p.order {
			o.Desc = !o.Desc
		}
		return o
	}
	take := func(o index.TotalsOrder) tea.Cmd {
		p.order = o
		p.table.Restart()
		return s.refreshPanel()
	}
	orders := p.grid.orders()
	if at := p.table.Cursor.Columns.At(); at >= 0 && at < len(orders) {
		return nil, take(next(orders[at]))
	}
	items := make([]ui.Choice, len(orders))
	for i, o := range orders {
		orders[i] = next(o)
		items[i] = ui.Choice{Text: p.grid.heading(o), Note: orderNote(orders[i])}
	}
	return ui.Choose{Title: "Sort totals by", Items: items, Pick: func(i int) (ui.Action, tea.Cmd) {
		if !p.open() {
			return nil, nil
		}
		return nil, take(orders[i])
	}}, nil
}

// orderNote says what is first in an order of totals.
func orderNote(o index.TotalsOrder) string {
	if o.Field == "" {
		return ""
	}
	kind := field.Count
	if o.Field == index.TotalsGroup {
		kind = field.Text
	}
	return list.Direction(kind, o.Desc)
}

// openCell filters the list by the cell under the cursor, within what it shows.
func (s *totalsPanel) openCell() (ui.Action, tea.Cmd) {
	p := &s.panel
	terms, why := p.grid.terms(p.grid.cell(p.table))
	if why != "" {
		return ui.Notify{Level: ui.Denied, Text: why}, nil
	}
	for _, part := range s.list.Filter.Shown.Parts() {
		terms = slices.DeleteFunc(terms, func(t string) bool { return t == s.list.Filter.Shown.Of(part).String() })
	}
	if len(terms) == 0 {
		return ui.Notify{Level: ui.Info, Text: "The list shows this already."}, nil
	}
	text := strings.Join(terms, " ")
	if now := s.list.Filter.Shown.String(); now != "" {
		if len(s.list.Filter.Shown.Parts()) == 1 && strings.Contains(now, " OR ") {
			now = "(" + now + ")"
		}
		text = now + " " + text
	}
	e, err := filter.Parse(text)
	if err != nil {
		return ui.Notify{Level: ui.Denied, Text: "Cannot filter by this cell."}, nil
	}
	e = e.For(s.env.Ctx)
	p.before = append(p.before, before{s.list.Filter.Shown, s.list.Filter.Text})
	s.list.Filter.Show(e, e.String())
	s.loader.restart = true
	return ui.Handled{}, s.loader.filtered(false)
}

// chooseWithin offers the second groupings.
func (s *totalsPanel) chooseWithin() ui.Action {
	list := []index.By{""}
	items := []ui.Choice{{Text: "do not split", Note: "one grouping only"}}
	for _, b := range append(slices.Clone(pages[1:]), index.ByPayment) {
		if b != pages[s.panel.page-1] {
			list = append(list, b)
			items = append(items, ui.Choice{Text: string(b)})
		}
	}
	return ui.Choose{Title: "Split each group by", Items: items, Pick: func(i int) (ui.Action, tea.Cmd) {
		if !s.panel.open() {
			return nil, nil
		}
		s.panel.within = list[i]
		return nil, s.refreshPanel()
	}}
}

// panelKeys are the keys that matter while the totals are open.
func (s *totalsPanel) panelKeys(back func(string) keymap.Key) []keymap.Key {
	k, p := s.env.Keys, &s.panel
	next, pane := k.Operations.Totals, k.Global.Pane
	next.SetHelp(next.Help().Key, p.next())
	pane.Extra = false
	leave := []keymap.Key{back("close")}
	switch {
	case len(p.before) > 0:
		leave[0] = back("previous filter")
	case p.page == len(pages): // the next page closes it, too
		leave = nil
	}
	if !p.focus {
		pane.SetHelp(pane.Help().Key, "into totals")
		pane.Word, pane.Long = "pane", "move between totals and list; enter on a total filters the list"
		return append([]keymap.Key{next, pane, k.Totals.Within}, leave...)
	}
	pane.SetHelp(pane.Help().Key, "to the list")
	pane.Word, pane.Long = "pane", "back to the list"
	open, export := k.List.Open, k.Operations.Export
	open.SetHelp(open.Help().Key, "filter by it")
	export.SetHelp(export.Help().Key, "export totals")
	export.Extra = false
	sort := k.List.Sort
	sort.SetHelp(sort.Help().Key, "sort totals")
	sort.Extra = false
	return append([]keymap.Key{open, pane, k.Totals.Left, k.Totals.Right, sort, export, next, k.Totals.Within}, leave...)
}

// panelSections say the open page.
func (s *totalsPanel) panelSections() []ui.Section {
	p := &s.panel
	if !p.open() || !p.ready {
		return nil
	}
	title := tabs[p.page-1]
	if p.within != "" {
		title += ", each split by " + string(p.within)
	}
	if p.order.Field != "" && p.grid != nil {
		title += ", sorted by " + p.grid.heading(p.order) + ", " + orderNote(p.order)
	}
	var lines []string
	if p.err != nil {
		lines = append(lines, "The totals could not be computed.")
	} else {
		if p.page == 1 { // the other pages are of the same sums
			lines = append(lines, s.summed()+".")
		}
		lines = append(lines, chartSaid(p.line)...)
		for _, r := range p.grid.rows {
			lines = append(lines, p.grid.sentence(r))
		}
	}
	return []ui.Section{{Title: title, Lines: append(lines, s.env.Keys.Operations.Totals.Help().Key+" says: "+p.next())}}
}

// panelHeight is how many lines the totals take of h.
func (s *totalsPanel) panelHeight(h int) int {
	if !s.panel.open() {
		return 0
	}
	needs := 6 // all that is drawn beside the rows
	if g := s.panel.grid; g != nil {
		needs += len(g.rows)
		if g.currencies != nil { // the cell under the cursor is said below
			needs++
		}
	}
	most := h * 3 / 5
	if s.panel.focus && h < 20 {
		most = h - 3
	}
	return max(min(max(needs, h/3), most), 0)
}

// panelLines draws the panel in h lines.
func (s *totalsPanel) panelLines(w, h int) []string {
	p, th := &s.panel, s.env.Theme
	if !p.open() || h < 2 {
		return nil
	}
	var out []string
	if h >= smallPanel {
		out = append(out, th.Rule.Render(strings.Repeat(th.Signs.Light, max(w, 0))))
	}
	out = append(out, s.tabLine(w, h))
	switch {
	case p.err != nil:
		return draw.Lay(append(out, th.Bad.Render(th.Signs.Bad+" The totals could not be computed.")), w, h)
	case !p.ready:
		return draw.Lay(append(out, th.Dim.Render("Computing the totals …")), w, h)
	case p.grid.all.Count == 0:
		return draw.Lay(append(out, th.Dim.Render("No operations to total.")), w, h)
	}
	head := s.panelHead(h)
	room := h - head
	said := p.focus && room > 3 && p.grid.needsDetail(p.table)
	if said {
		room--
	}
	p.table.Cursor.Blur(!p.focus)
	p.grid.lay(p.table, w, room)
	if out[len(out)-1] = s.tabLine(w, h); h >= smallPanel { // it says how many currencies have no room
		out = append(out, s.summedLine(w), chart(th, p.line, w))
	}
	out = append(out, p.table.Lines()...)
	if said {
		out = append(out, th.Accent.Render(draw.Cut(p.grid.detail(p.table), w)))
	}
	return draw.Lay(out, w, h)
}

// panelHead is how many of the h lines of the panel are above its table.
func (s *totalsPanel) panelHead(h int) int {
	if h < smallPanel {
		return 1
	}
	return 4 // a rule, the pages, what is summed, the chart
}

// tabLine is the line of the pages; a narrow window has only the open one, and a low one also what is summed.
func (s *totalsPanel) tabLine(w, h int) string {
	p, th := &s.panel, s.env.Theme
	if h >= smallPanel && w >= 60 {
		return widget.Tabs(th, tabs, p.page-1, w)
	}
	line := th.Title.Render(tabs[p.page-1])
	if h >= smallPanel {
		return line
	}
	if s.lacking() {
		line += th.Warn.Render("  " + th.Signs.Warn + " not complete")
	} else {
		line += th.Dim.Render("  amount paid")
	}
	if more := s.moreCurrencies(); more != "" {
		line += th.Accent.Render("  " + more)
	}
	return line
}

// lacking reports whether the sums lack what the index has not read yet.
func (s *totalsPanel) lacking() bool { return s.panel.marked == 0 && s.loader.readSoFar() != "" }

// summed says what the sums are of.
func (s *totalsPanel) summed() string {
	return s.summedOf("Sums of the amount paid", ", each split by ")
}

// summedOf is that sentence with its words for what is summed and for a second grouping.
func (s *totalsPanel) summedOf(out, split string) string {
	p := &s.panel
	switch {
	case p.marked > 0:
		out += ", " + format.Plural(p.marked, "marked operation", "marked operations")
	case s.list.Filter.Shown.Empty():
		out += ", all statuses and types"
	default:
		out += ", every status and type that the filter shows"
	}
	if p.within != "" {
		out += split + string(p.within)
	}
	return out
}

// summedLine is what the sums are of in w cells, with what is missing in them or has no room.
func (s *totalsPanel) summedLine(w int) string {
	th := s.env.Theme
	style, more, room := th.Dim, s.moreCurrencies(), w
	if more != "" {
		room = max(w-draw.Width(more)-2, 0)
		more = "  " + th.Accent.Render(more)
	}
	lines := []string{s.summed(), s.summedOf("Amount paid", ", split by ")}
	if s.lacking() {
		style = th.Warn
		for i, l := range lines {
			lines[i] = th.Signs.Warn + " " + s.loader.readSoFar() + ". " + l
		}
	} else if s.list.Filter.Shown.Empty() && more == "" {
		lines = append([]string{lines[0] + " (" + s.env.Keys.List.Filter.Help().Key + " narrows)"}, lines...)
	}
	return style.Render(draw.Fitting(room, lines...)) + more
}

// moreCurrencies is how many currencies have no room, with the keys that show them; "" for none.
func (s *totalsPanel) moreCurrencies() string {
	p, k := &s.panel, s.env.Keys
	if p.grid == nil {
		return ""
	}
	n, keys := p.grid.hidden(p.table), k.Totals.Right.Help().Key
	if n == 0 {
		return ""
	}
	if !p.focus {
		keys = k.Global.Pane.Help().Key + " " + keys
	}
	return format.Plural(n, "more currency", "more currencies") + ": " + keys
}

// wanted is the HidePriority of columns that somebody wants: they go last.
const wanted = 1

// column is a column of operations.
type column = present.Column[api.Operation]

// build makes a choice into columns.
func build(choices []field.Choice) []column {
	out := make([]column, len(choices))
	for i, choice := range choices {
		c := present.ColumnOf(field.Operations, choice.Name)
		if choice.Width > 0 {
			c.Min, c.Max, c.Flex = choice.Width, choice.Width, 0
		}
		if choice.Wanted() && c.HidePriority > 0 {
			c.HidePriority = wanted
		}
		out[i] = c
	}
	return out
}

// show gives list and table other columns; the cursor stays on its row.
func (s *columnChoice) show(choices []field.Choice) {
	s.shown = choices
	s.loader.columns = build(choices)
	s.list.Table.SetColumns(list.ColumnsOf(s.loader.columns)...)
	s.list.Sort.Show()
}

// askExportTotals asks for the file of the totals that are open.
func (s *totalsPanel) askExportTotals() ui.Action {
	by, order := s.panel.grid.by, s.panel.order.Sort
	if order.Field == index.TotalsGroup {
		order.Field = index.TotalsHead(by)[0]
	}
	q, marked := s.loader.meant()
	return s.jobs.askFile(sheet{index.Sheet{Filter: q, Sort: order, Totals: true, By: by},
		"the totals by " + strings.Join(words(by), " and "), "the totals of " + s.jobs.whence(marked), marked, "sum",
		"sums"}, "totals.csv")
}
