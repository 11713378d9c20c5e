// Package limits is the screen of the budgets: the used part of each recommended rate,
// for all instances together, and the time of the next call.
package limits

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// News is the current usage, sent to every screen after each change.
type News struct {
	ui.Broadcast
	Usage []limit.Usage
	At    time.Time
	Err   error // why the budgets cannot be read; nil: Usage is valid
}

// Screen is the status of the rate limits; it implements ui.Screen.
type Screen struct {
	ui.Page
	env    *ui.Env
	read   func(context.Context) ([]limit.Usage, error) // costs no call
	policy string
	usage  []limit.Usage
}

// NewScreen returns the screen; policy is [limits] policy: wait or warn.
func NewScreen(env *ui.Env, read func(context.Context) ([]limit.Usage, error), policy string) *Screen {
	s := &Screen{env: env, read: read, policy: policy}
	s.Page = ui.NewPage(env, s, "store", "")
	return s
}

// Reload implements ui.PageScreen.
func (s *Screen) Reload() tea.Cmd {
	read := ui.Reading(s.env, s.Loads, s.read, func(u []limit.Usage, at time.Time, err error) {
		if err == nil {
			s.usage, s.At, s.Err = u, at, nil
		} else {
			s.failed(err)
		}
	})
	return tea.Batch(s.env.ReadVerdict(), read)
}

// Answer implements ui.PageScreen.
func (s *Screen) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch news, ok := msg.(News); {
	case ok && news.Err != nil:
		s.failed(news.Err)
	case ok:
		s.usage, s.At, s.Err = news.Usage, news.At, nil
	case msg == ui.Shown{}:
		return nil, s.env.ReadVerdict()
	}
	return nil, nil
}

// failed stores why the budgets cannot be read.
func (s *Screen) failed(err error) {
	if s.Err = api.AsError(err); s.Err.Kind == api.Internal {
		s.Err = &api.Error{Kind: api.Unavailable, Public: "The budgets cannot be read from the store.",
			Hint: "opdeck doctor checks the store.", Err: err}
	}
}

// OwnKey implements ui.PageScreen.
func (s *Screen) OwnKey(p keymap.Press) (ui.Action, tea.Cmd, bool) {
	switch k := s.env.Keys.Tariffs; {
	case k.Limits.Match(p):
		return ui.Open{Place: ui.Place{Kind: "paymentlimits"}}, nil, true
	case k.Commissions.Match(p):
		return ui.Open{Place: ui.Place{Kind: "commissions"}}, nil, true
	}
	return nil, nil, false
}

// Content implements ui.Contenter.
func (s *Screen) Content() ui.Content {
	switch th := s.env.Theme; {
	case s.Err != nil:
		return s.Failed(s.Err)
	case s.env.Verdict().Of(verdict.PartStore) == verdict.Bad:
		return ui.Content{Lines: []string{th.Dim.Render("The budgets cannot be read now.")}}
	case s.usage == nil:
		return ui.Content{Lines: []string{th.Dim.Render(reading)}}
	case th.Linear:
		return ui.Content{Lines: s.spoken()}
	}
	return ui.Content{Lines: s.table()}
}

const reading = "Reading the budgets …"

// budgetsNow returns the current budgets.
func (s *Screen) budgetsNow() []present.Budget {
	return present.Budgets(s.usage, s.env.Now().Sub(s.At))
}

// spoken returns the content of the table in sentences.
func (s *Screen) spoken() []string {
	var out []string
	for _, b := range s.budgetsNow() {
		out = append(out, b.Line())
	}
	return append(out, s.sentences()...)
}

// The widths of the columns "used", "next call" and "429 (1 h)".
const usedWide, nextWide, refusedWide = 9, 11, 11

// lastMinute is the title of the bars.
const lastMinute = "last 60 s"

// columns are the widths of the columns; 0: it is not drawn.
type columns struct{ gauge, spark, waiting, left, next, refused int }

// narrow are the columns of a window without room for a gauge.
var narrow = columns{left: 5, next: 8, refused: 5}

func (s *Screen) columns(plotted bool) columns {
	const fixed = 9 + 2 + usedWide + 6 + nextWide + 9 + refusedWide // class, sign, used, left, next call, waiting, 429
	if s.W < fixed {
		return narrow
	}
	left := s.W - fixed - 4
	if plotted { // the history is below
		return columns{gauge: min(left, 60), waiting: 9, left: 6, next: nextWide, refused: refusedWide}
	}
	c := columns{gauge: min(max(left/2, 0), 24), waiting: 9, left: 6, next: nextWide, refused: refusedWide}
	c.spark = min(max(left-c.gauge-2, 0), len(perMinute(limit.History{})))
	if c.spark < len("10 minutes") { // its title would be cut
		c.gauge, c.spark = min(left, 24), 0
	}
	if left < 16 {
		c.gauge, c.spark = max(left, 0), 0
	}
	if c.gauge <= len(lastMinute) { // a bar of two cells says nothing
		c.gauge = 0
	}
	return c
}

func (s *Screen) table() []string {
	said := []string{""}
	for _, f := range s.env.Verdict().In(verdict.PartBudget) {
		said = append(said, s.env.Sentence(present.FindingStep(s.env.Present(), f), s.W)...)
	}
	for _, sentence := range s.meaning() {
		for _, l := range draw.Wrap(sentence, max(s.W, 1)) {
			said = append(said, s.env.Theme.Dim.Render(l))
		}
	}
	plots := s.plots(s.H - 2 - len(s.usage) - len(said))
	th, c := s.env.Theme, s.columns(len(plots) > 0)
	title := map[string]string{}
	for _, c := range present.BudgetColumns {
		title[c.Name] = c.Title
	}
	if c == narrow {
		title["next slot"], title["throttled"] = "next", "429"
	}
	head := draw.Fit("  "+title["class"], 11) + draw.Fit(lastMinute, c.gauge) + draw.FitRight(title["used"], usedWide) +
		draw.FitRight(title["room"], c.left) + draw.FitRight(title["next slot"], c.next) +
		draw.FitRight(title["waiting"], c.waiting) + draw.FitRight(title["throttled"], c.refused)
	if c.spark > 0 {
		title := "last 10 minutes"
		if c.spark < len(title) {
			title = "10 minutes"
		}
		head += "  " + draw.Fit(title, c.spark)
	}
	lines := []string{th.Dim.Render(draw.Cut(head, s.W))}
	for _, b := range s.budgetsNow() {
		lines = append(lines, s.row(b, c))
	}
	if lines = append(lines, said...); len(plots) > 0 {
		lines = append(append(lines, ""), plots...)
	}
	return lines
}

// NextTick implements ui.Ticker: waits run down.
func (s *Screen) NextTick(now time.Time) time.Time {
	next := s.env.VerdictEnds(now)
	for _, u := range s.usage {
		for _, d := range []time.Duration{time.Duration(u.NextSlot * float64(time.Second)), u.Blocked} {
			if left := s.At.Add(d).Sub(now); d > 0 && left > 0 {
				next = ui.Sooner(next, now.Add((left-1)%time.Second+1))
			}
		}
	}
	return next
}

// cells are the texts of a budget by the names of their columns.
func (s *Screen) cells(b present.Budget) map[string]string {
	out := map[string]string{}
	for _, c := range present.BudgetColumns {
		out[c.Name] = c.Cell(s.env.Present(), b).Text
	}
	return out
}

func (s *Screen) row(b present.Budget, c columns) string {
	th, look, cell := s.env.Theme, b.RowLook(), s.cells(b)
	if b.Held() { // the service asked for it, whatever is left
		cell["room"] = "held"
	}
	if look.Tone == theme.Good && !s.env.StoreKnown() {
		look = present.StateLook(verdict.Unknown)
	}
	line := th.Tone(look.Tone).Render(th.SignOf(look.Sign)) + " " + draw.Fit(cell["class"], 9) + widget.Gauge(th, b.Used,
		b.Recommended, c.gauge, look.Tone) + draw.FitRight(cell["used"]+" of "+cell["per minute"], usedWide) +
		draw.FitRight(cell["room"], c.left) + draw.FitRight(cell["next slot"], c.next) +
		draw.FitRight(cell["waiting"], c.waiting) +
		draw.FitRight(cell["throttled"], c.refused)
	if c.spark > 0 {
		line += "  " + widget.Plot(th, perMinute(b.History), b.Recommended, c.spark, 1, theme.Info, theme.Warn)[0]
	}
	return line
}

// sentences returns the meaning of the numbers for the next call.
func (s *Screen) sentences() []string {
	var out []string
	for _, f := range s.env.Verdict().In(verdict.PartBudget) {
		out = append(out, present.FindingStep(s.env.Present(), f).Text)
	}
	return append(out, s.meaning()...)
}

// meaning is sentences without what is wrong.
func (s *Screen) meaning() []string {
	out := present.BudgetSums(s.budgetsNow())
	if s.policy == "warn" {
		out = append(out, "When a budget is used up, calls are sent and marked (policy warn); the service may answer 429.")
	} else {
		out = append(out, "When a budget is used up, calls wait (policy wait); people's calls come before background work.")
	}
	return append(out,
		"All consoles, commands and hosts with this store share these budgets.",
		"429 (1 h) counts the calls that were refused in the last hour.")
}

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Key { return s.PageKeys(false, keymap.All(s.env.Keys.Tariffs)...) }

// Title implements ui.Screen.
func (s *Screen) Title() string { return "Limits" }

// Place implements ui.Screen.
func (s *Screen) Place() ui.Place { return ui.Place{Kind: ui.KindLimits} }

// plotsFrom is the width from which each class has a plot, two beside each other.
const plotsFrom = 120 - ui.Margins

// The heights of a plot in lines.
const (
	lowestPlot  = 2
	highestPlot = 4
)

// perMinute returns how many calls each minute had that ends with a step of the history; the minutes before the
// history are not known, so it begins with the first whole one.
func perMinute(h limit.History) []int {
	const minute = 6 // steps
	var out []int
	sum := 0
	for i, n := range h {
		if sum += n; i >= minute {
			sum -= h[i-minute]
		}
		if i >= minute-1 {
			out = append(out, sum)
		}
	}
	return out
}

// plots draws the calls per minute of all classes in at most h lines, two classes beside each other; none if they
// have no room.
func (s *Screen) plots(h int) []string {
	list := s.budgetsNow()
	rows := (len(list) + 1) / 2
	if s.W < plotsFrom || rows == 0 {
		return nil
	}
	each := min((h-1)/rows-2, highestPlot)
	if each < lowestPlot {
		return nil
	}
	half, axis := (s.W-3)/2, 0
	for _, b := range list {
		axis = max(axis, draw.Width(format.Count(b.Recommended))+1)
	}
	out := []string{s.env.Theme.Title.Render("Calls per minute") + s.env.Theme.Dim.Render(
		"  the last ten minutes; a full bar means that the recommended rate is used up")}
	for i := 0; i < len(list); i += 2 {
		left, right := s.plot(list[i], half, each, axis), []string(nil)
		if i+1 < len(list) {
			right = s.plot(list[i+1], half, each, axis)
		}
		out = append(append(out, widget.Beside(left, right, half)...), "")
	}
	return out[:len(out)-1]
}

// plot draws one class in w cells: a heading, and the columns of the minutes behind the recommended rate in axis cells.
func (s *Screen) plot(b present.Budget, w, h, axis int) []string {
	th, values := s.env.Theme, perMinute(b.History)
	full := 0
	for _, n := range values {
		if n >= b.Recommended {
			full++
		}
	}
	head := draw.Fit(s.cells(b)["class"], 10) + fmt.Sprintf("%d used of %d", b.Used, b.Recommended)
	if full > 0 && b.Recommended > 1 {
		head += ", used up for " + format.Duration(time.Duration(full)*limit.HistoryStep)
	}
	if b.Waiting > 0 {
		head += ", " + format.Count(b.Waiting) + " waiting"
	}
	out := []string{th.Strong.Render(draw.Cut(head, w))}
	for i, line := range widget.Plot(th, values, b.Recommended, w-axis, h, theme.Info, theme.Warn) {
		mark := strings.Repeat(" ", axis)
		if i == 0 {
			mark = draw.PadLeft(format.Count(b.Recommended)+" ", axis)
		} else if i == h-1 {
			mark = draw.PadLeft("0 ", axis)
		}
		out = append(out, th.Dim.Render(mark)+line)
	}
	return out
}
