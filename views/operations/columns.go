package operations

import (
	"slices"
	"time"

	"opdeck/api"
	"opdeck/internal/columns"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// column is one column that the list can show. Its Title is its name in package
// columns.
type column struct {
	widget.Column
	sort  string // of index.SortFields; "": rows cannot be sorted by it
	about string // for the choice
	cell  func(*look) (string, theme.Tone)
}

// look is a record as it is drawn now.
type look struct {
	env   *ui.Env
	op    api.Operation
	now   time.Time
	until time.Time // when a cell looks different by time alone; zero: never
}

// amountCap is the room an amount takes beside the firm columns of 80 cells:
// 999,999,999,999.99 EUR. Wider ones take what columns that may be dropped leave.
const amountCap = 22

const (
	unlisted = 10 // Drop of columns that are not there unless somebody wants them
	wanted   = 1  // Drop of columns that somebody wants: they go last
)

// offered are all columns; package columns says in which order they are offered.
var offered = []column{
	{Column: widget.Column{Title: "created", Min: 16, Drop: 3, Firm: true}, sort: "created", about: "when it was created",
		cell: func(l *look) (string, theme.Tone) { return draw.Minute(l.op.CreatedAt.Time, l.env.Zone()), theme.Plain }},
	{Column: widget.Column{Title: "status", Min: 12, Max: 16}, sort: "status", about: "the service's status word", cell: statusCell},
	{Column: widget.Column{Title: "type", Min: 9, Max: 12, Drop: 6}, sort: "type", about: "the kind of operation",
		cell: func(l *look) (string, theme.Tone) { return l.op.Type.Line(40), theme.Plain }},
	{Column: widget.Column{Title: "via", Min: 7, Max: 9, Drop: 7}, sort: "payment", about: "the payment type",
		cell: func(l *look) (string, theme.Tone) { return l.op.PaymentType.Line(40), theme.Plain }},
	{Column: widget.Column{Title: "amount", Min: 16, Cap: amountCap, Align: widget.Decimal}, sort: "amount", about: "what is paid, exact",
		cell: func(l *look) (string, theme.Tone) { return draw.Money(l.op.SourceAmount.Sum), theme.Plain }},
	{Column: widget.Column{Title: "customer", Min: 12, Max: 40, Flex: 2, Drop: 2, Firm: true}, sort: "customer", about: "the customer's name",
		cell: func(l *look) (string, theme.Tone) { return l.op.Customer.Name.Line(100), theme.Plain }},
	{Column: widget.Column{Title: "to", Min: 12, Max: 40, Flex: 2, Drop: 5}, sort: "destination", about: "who receives it",
		cell: func(l *look) (string, theme.Tone) { return l.op.Destination.Name().Line(100), theme.Plain }},
	{Column: widget.Column{Title: "docs", Min: 5, Drop: 8}, sort: "docs", about: "documents; a sign when one is locked", cell: docsCell},
	{Column: widget.Column{Title: "updated", Min: 8, Drop: 9}, sort: "updated", about: "how long ago it changed", cell: updatedCell},
	{Column: widget.Column{Title: "id", Min: 12, Max: 36, Flex: 1, Middle: true, Drop: 4}, sort: "id", about: "the operation's identifier",
		cell: func(l *look) (string, theme.Tone) { return l.op.OPID.Line(64), theme.Dim }},
	{Column: widget.Column{Title: "received", Min: 16, Cap: amountCap, Align: widget.Decimal, Drop: unlisted}, sort: "received", about: "what is received, exact",
		cell: func(l *look) (string, theme.Tone) { return draw.Money(l.op.DestinationAmount.Sum), theme.Plain }},
	{Column: widget.Column{Title: "fee", Min: 10, Cap: amountCap, Align: widget.Decimal, Drop: unlisted}, sort: "fee", about: "the commission, exact",
		cell: func(l *look) (string, theme.Tone) { return draw.Money(l.op.CommissionAmount.Sum), theme.Plain }},
	{Column: widget.Column{Title: "currency", Min: 8, Drop: unlisted}, sort: "currency", about: "the currency that is paid",
		cell: func(l *look) (string, theme.Tone) { return l.op.SourceAmount.Sum.CurrencyCode.Line(12), theme.Plain }},
	{Column: widget.Column{Title: "from", Min: 12, Max: 40, Flex: 2, Drop: unlisted}, sort: "source", about: "who pays it",
		cell: func(l *look) (string, theme.Tone) { return l.op.Source.Name().Line(100), theme.Plain }},
	{Column: widget.Column{Title: "reference", Min: 12, Max: 40, Flex: 1, Drop: unlisted}, sort: "reference", about: "the reference",
		cell: func(l *look) (string, theme.Tone) { return l.op.Reference.Line(120), theme.Plain }},
	{Column: widget.Column{Title: "comment", Min: 12, Flex: 2, Drop: unlisted}, about: "the comment, as one line",
		cell: func(l *look) (string, theme.Tone) { return l.op.Comment.Line(200), theme.Plain }},
	{Column: widget.Column{Title: "cuid", Min: 12, Max: 36, Flex: 1, Middle: true, Drop: unlisted}, about: "the customer's identifier",
		cell: func(l *look) (string, theme.Tone) { return l.op.Customer.CUID.Line(64), theme.Dim }},
}

func statusCell(l *look) (string, theme.Tone) {
	st := l.env.Theme.Status(string(l.op.Status))
	return st.Sign + " " + l.op.Status.Line(20), st.Tone
}

func docsCell(l *look) (string, theme.Tone) {
	n := len(l.op.Documents)
	if n == 0 {
		return "", theme.Dim
	}
	if slices.ContainsFunc(l.op.Documents, func(d api.Document) bool { return d.IsLock }) {
		return draw.Count(n) + " " + l.env.Theme.Signs.Locked, theme.Dim
	}
	return draw.Count(n), theme.Dim
}

func updatedCell(l *look) (string, theme.Tone) {
	ago, until := draw.Ago(l.op.UpdatedAt.Time, l.now)
	l.until = ui.Sooner(l.until, until)
	return ago, theme.Dim
}

func place(name string) int {
	return slices.IndexFunc(offered, func(c column) bool { return c.Title == name })
}

// build makes a choice into columns of the list and of the table.
func build(list []columns.Shown) ([]column, []widget.Column) {
	specs, cols := make([]column, 0, len(list)), make([]widget.Column, 0, len(list))
	for _, s := range list {
		c := offered[place(s.Name)]
		if s.Width > 0 {
			c.Min, c.Max, c.Flex = s.Width, s.Width, 0
		}
		if s.Wanted() {
			c.Firm = true
			if c.Drop > 0 {
				c.Drop = wanted
			}
		}
		specs, cols = append(specs, c), append(cols, c.Column)
	}
	return specs, cols
}

// show gives list and table other columns; the cursor stays on its row.
func (s *Screen) show(list []columns.Shown) {
	if len(list) == 0 {
		list = columns.Usual()
	}
	s.shown = list
	specs, cols := build(list)
	s.rows.columns = specs
	clear(s.rows.drawn)
	s.table.SetColumns(cols...)
	s.table.SetSort(s.sortColumn(), s.sort.Desc)
}

// sortColumn is the column that rows are sorted by, -1 when it is not shown.
func (s *Screen) sortColumn() int {
	return slices.IndexFunc(s.rows.columns, func(c column) bool { return c.sort == s.sort.Field })
}
