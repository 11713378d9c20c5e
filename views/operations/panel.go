package operations

import (
	"context"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/cockroachdb/apd/v3"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// pages of the panel, in the order of the key that opens it.
var pages = []index.By{"", "totals", index.ByStatus, index.ByType, index.ByCustomer, index.ByCurrency, index.ByDay}

// tabs are the pages' names.
var tabs = []string{"totals", "by status", "by type", "by customer", "by currency", "by day"}

const spark = 60 // days

// panel shows exact totals of what is filtered, and how it divides.
type panel struct {
	page   int // into pages; 0: closed
	sums   []index.Sum
	groups []index.Group
	days   []index.Day
	err    error
	ready  bool
	marked int // that many marked operations are added up; 0: all that are shown
}

func (p panel) open() bool { return p.page > 0 }

// next is what the key that opened the panel shows next.
func (p panel) next() string {
	if p.page == len(pages)-1 {
		return "close"
	}
	return tabs[p.page]
}

// nextPanel opens the totals, then each grouping, then closes.
func (s *Screen) nextPanel() tea.Cmd {
	s.panel = panel{page: (s.panel.page + 1) % len(pages)}
	return s.refreshPanel()
}

// refreshPanel computes what the open panel shows of the present filter.
func (s *Screen) refreshPanel() tea.Cmd {
	if !s.panel.open() {
		s.totals.Stop()
		return nil
	}
	ix, p := s.index, s.panel
	q, marked := s.meant()
	p.marked = marked
	return s.Read(s.totals, func(ctx context.Context) ui.Then {
		p.compute(ctx, ix, q)
		return func() (ui.Action, tea.Cmd) {
			s.panel = p
			return nil, nil
		}
	})
}

// compute adds up what the page shows of a filter.
func (p *panel) compute(ctx context.Context, ix Index, q filter.OperationExpr) {
	p.ready = true
	p.err = ix.Consistent(ctx, func(ix Index) (err error) {
		if by := pages[p.page]; by != "totals" {
			p.groups, err = ix.Groups(ctx, q, by, 20)
			return err
		}
		if p.sums, err = ix.Totals(ctx, q); err == nil {
			p.days, err = ix.Days(ctx, q, spark)
		}
		return err
	})
}

// needs is how many lines all totals take; groups are as many as there is room for.
func (p panel) needs() int {
	if pages[p.page] != "totals" {
		return 0
	}
	return 3 + len(p.sums)
}

// lines draws the panel in at most h lines.
func (p panel) lines(th *theme.Theme, w, h int) []string {
	if !p.open() || h < 3 {
		return nil
	}
	of := ""
	if p.marked > 0 {
		of = draw.Count(p.marked) + " marked: "
	}
	out := []string{th.Rule.Render(strings.Repeat(th.Signs.Light, max(w, 0))), th.Info.Render(of) + widget.Tabs(th, tabs, p.page-1, max(w-draw.Width(of), 1))}
	switch {
	case p.err != nil:
		out = append(out, th.Bad.Render(th.Signs.Bad+" The totals could not be computed."))
	case !p.ready:
		out = append(out, th.Dim.Render("Adding up …"))
	case pages[p.page] == "totals":
		out = append(out, p.totals(th, w)...)
	default:
		out = append(out, p.grouped(th, w)...)
	}
	if len(out) > h {
		more := len(out) - h + 1
		out = append(out[:h-1], th.Dim.Render(fmt.Sprintf("%s %d more", th.Signs.More, more)))
	}
	return draw.Lay(out, w, h)
}

// money makes a sum drawable by the one way to draw money.
type money struct {
	code untrusted.Text
	sum  *apd.Decimal
}

func (m money) Currency() untrusted.Text       { return m.code }
func (m money) Decimal() (*apd.Decimal, error) { return m.sum, nil }

func (p panel) totals(th *theme.Theme, w int) []string {
	var col []string
	for _, s := range p.sums {
		col = append(col, draw.Money(money{s.Currency, s.Amount}))
	}
	col = draw.Align(col)
	var out []string
	if len(p.days) > 0 {
		counts := make([]int, len(p.days))
		for i, d := range p.days {
			counts[i] = int(d.Count)
		}
		out = append(out, th.Dim.Render(fmt.Sprintf("last %d days  ", len(p.days)))+widget.Sparkline(th, counts, max(w-16, 1), theme.Info))
	}
	for i, s := range p.sums {
		line := col[i] + th.Dim.Render("  in "+draw.Plural(int(s.Count), "operation", "operations"))
		if s.Bad > 0 {
			line += th.Warn.Render(fmt.Sprintf("  %s %d without a usable amount", th.Signs.Warn, s.Bad))
		}
		out = append(out, line)
	}
	return out
}

func (p panel) grouped(th *theme.Theme, w int) []string {
	most := int64(1)
	for _, g := range p.groups {
		most = max(most, g.Count)
	}
	var out []string
	for _, g := range p.groups {
		name := g.Key.Line(40)
		if g.Name != "" {
			name = g.Name.Line(60)
		}
		if name == "" {
			name = "(none)"
		}
		bar := min(max(w/4, 6), 30)
		line := draw.Fit(name, min(max(w/4, 12), 30)) + " " + widget.Gauge(th, int(g.Count), int(most), bar, theme.Info) + " " +
			draw.PadLeft(draw.Count(int(g.Count)), 9) + "  "
		var sums []string
		for _, s := range g.Sums {
			sums = append(sums, draw.Money(money{s.Currency, s.Amount}))
		}
		out = append(out, line+th.Dim.Render(draw.Cut(strings.Join(sums, "  "), max(w-draw.Width(line), 0))))
	}
	if len(out) == 0 {
		out = append(out, th.Dim.Render("Nothing to group."))
	}
	return out
}
