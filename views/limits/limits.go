// Package limits is the screen of the budgets: how much of each recommended rate
// all instances together have used, and when the next call may go.
package limits

import (
	"context"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Budgets are read without a call; *limit.Budgets has them.
type Budgets interface {
	Usage(ctx context.Context) ([]limit.Usage, error)
}

// News is the usage as it is now, told to every screen whenever it changes.
type News struct {
	ui.Broadcast
	Usage []limit.Usage
	At    time.Time
	Err   error // why the budgets cannot be read; nil: Usage holds
}

// Screen is the status of the rate limits; it implements ui.Screen.
type Screen struct {
	ui.Page
	env     *ui.Env
	budgets Budgets
	policy  string
	usage   []limit.Usage
}

// NewScreen makes the screen; policy is the config's: wait or warn.
func NewScreen(env *ui.Env, budgets Budgets, policy string) *Screen {
	s := &Screen{env: env, budgets: budgets, policy: policy}
	s.Page = ui.NewPage(env, s, "store", "")
	return s
}

// Reload implements ui.PageScreen.
func (s *Screen) Reload() tea.Cmd {
	return ui.Reading(s.env, s.Loads, s.budgets.Usage, func(u []limit.Usage, at time.Time, err error) {
		if err == nil {
			s.usage, s.At, s.Err = u, at, nil
		} else {
			s.failed(err)
		}
	})
}

// Answer implements ui.PageScreen.
func (s *Screen) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch news, ok := msg.(News); {
	case ok && news.Err != nil:
		s.failed(news.Err)
	case ok:
		s.usage, s.At, s.Err = news.Usage, news.At, nil
	}
	return nil, nil
}

// failed keeps why the budgets cannot be read.
func (s *Screen) failed(err error) {
	if s.Err = api.AsError(err); s.Err.Kind == api.Internal {
		s.Err = &api.Error{Kind: api.Unavailable, Public: "The budgets cannot be read from the store.",
			Hint: "opdeck doctor looks at the store.", Err: err}
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
	case s.usage == nil:
		return ui.Content{Lines: []string{th.Dim.Render(reading)}}
	case th.Linear:
		return ui.Content{Lines: append(s.counts(), s.sentences()...)}
	}
	return ui.Content{Lines: s.table()}
}

const reading = "Reading the budgets …"

// judge is how a class stands: bad where calls are refused or went beyond, a warning
// where the next one waits. A budget of one call a minute is full after each, which
// says nothing until another call waits for it.
func (s *Screen) judge(u limit.Usage) theme.Tone {
	switch {
	case s.left(u.Blocked) > 0 || u.Over > 0 || u.Throttled > 0:
		return theme.Bad
	case u.Room == 0 && (u.Recommended > 1 || u.Waiting > 0):
		return theme.Warn
	}
	return theme.Good
}

// Verdict answers whether calls go now, and whether the service refused some.
func (s *Screen) Verdict() string {
	th, tone, refused := s.env.Theme, theme.Good, 0
	switch {
	case s.Err != nil:
		return th.Bad.Render(th.Signs.Bad + " " + s.Err.Public)
	case s.usage == nil:
		return th.Dim.Render(reading)
	}
	var held []string
	text := "calls left in every class"
	for _, u := range s.usage {
		refused += u.Throttled
		said, j := s.held(u), s.judge(u)
		if j == theme.Bad || tone == theme.Good {
			tone = j
		}
		switch {
		case said != "" && j != theme.Good:
			held = append(held, said)
		case u.Room == 0 && j == theme.Good:
			text = "calls left in every class except " + string(u.Class) + ", whose one call per minute is used"
		}
	}
	if len(held) > 0 {
		text = held[0]
	}
	if n := len(held) - 1; n > 0 {
		text += "; " + format.Plural(n, "other class is", "other classes are") + " delayed, too"
	}
	if refused > 0 {
		text = format.Plural(refused, "answer", "answers") + " 429 in the last hour; " + text
	}
	return th.Tone(tone).Render(th.Sign(tone)+" ") + text
}

// counts say what the table draws.
func (s *Screen) counts() []string {
	var out []string
	for _, u := range s.usage {
		line := fmt.Sprintf("%s: %d of %d used in the last minute, %d left", u.Class, u.Used, u.Recommended, u.Room)
		if u.Waiting > 0 {
			line += fmt.Sprintf(", %d waiting", u.Waiting)
		}
		if u.Throttled > 0 {
			line += fmt.Sprintf(", %d answers 429", u.Throttled)
		}
		out = append(out, line+".")
	}
	return out
}

// columns are the widths for the room there is.
type columns struct{ gauge, spark, waiting int }

func (s *Screen) columns() columns {
	const fixed = 9 + 2 + 8 + 6 + 9 + 9 + 5 // class, sign, used, room, next, waiting, 429
	if s.W < fixed {
		return columns{}
	}
	left := s.W - fixed - 4
	c := columns{gauge: min(max(left/2, 0), 24), waiting: 9}
	c.spark = min(max(left-c.gauge-2, 0), len(limit.History{}))
	if left < 16 {
		c = columns{gauge: max(left, 0), waiting: c.waiting}
	}
	return c
}

func (s *Screen) table() []string {
	th, c := s.env.Theme, s.columns()
	head := draw.Fit("  class", 11) + draw.Fit("last 60 s", c.gauge) + draw.FitRight("used", 8) + draw.FitRight("room",
		6) +
		draw.FitRight("next", 9) + draw.FitRight("waiting", c.waiting) + draw.FitRight("429", 5)
	if c.spark > 0 {
		title := "last 10 minutes"
		if c.spark < len(title) {
			title = "10 minutes"
		}
		head += "  " + draw.Fit(title, c.spark)
	}
	lines := []string{th.Dim.Render(draw.Cut(head, s.W))}
	for _, u := range s.usage {
		lines = append(lines, s.row(u, c))
	}
	lines = append(lines, "")
	for _, sentence := range s.sentences() {
		for _, l := range draw.Wrap(sentence, max(s.W, 1)) {
			lines = append(lines, th.Dim.Render(l))
		}
	}
	return lines
}

// left is what is left now of a time that was told when the usage was read, in
// whole seconds, rounded up: the last one is "1s".
func (s *Screen) left(d time.Duration) time.Duration {
	d -= s.env.Now().Sub(s.At)
	return max((d + time.Second - 1).Truncate(time.Second), 0)
}

func (s *Screen) span(left time.Duration) string {
	out, _ := format.Until(s.env.Now().Add(left), s.env.Now())
	return out
}

// slot is the time to the next slot of a class.
func (s *Screen) slot(u limit.Usage) time.Duration {
	if u.NextSlot <= 0 {
		return 0
	}
	return s.left(time.Duration(u.NextSlot * float64(time.Second)))
}

// NextTick implements ui.Ticker: slots and waits run down.
func (s *Screen) NextTick(now time.Time) time.Time {
	var next time.Time
	for _, u := range s.usage {
		for _, d := range []time.Duration{time.Duration(u.NextSlot * float64(time.Second)), u.Blocked} {
			if left := s.At.Add(d).Sub(now); d > 0 && left > 0 {
				next = ui.Sooner(next, now.Add((left-1)%time.Second+1))
			}
		}
	}
	return next
}

func (s *Screen) row(u limit.Usage, c columns) string {
	th := s.env.Theme
	tone := s.judge(u)
	sign := th.Sign(tone)
	if tone == theme.Good && u.Recommended > 1 && u.Used*3 >= u.Recommended*2 {
		sign, tone = th.Signs.Wait, theme.Warn
	}
	next := "now"
	if left := s.slot(u); left > 0 {
		next = s.span(left)
	}
	line := th.Tone(tone).Render(sign) + " " + draw.Fit(string(u.Class), 9) + widget.Gauge(th, u.Used, u.Recommended,
		c.gauge, tone) +
		draw.FitRight(fmt.Sprintf("%d/%d", u.Used, u.Recommended), 8) + draw.FitRight(fmt.Sprint(u.Room), 6) +
		draw.FitRight(next, 9) + draw.FitRight(fmt.Sprint(u.Waiting), c.waiting) + draw.FitRight(fmt.Sprint(u.Throttled), 5)
	if c.spark > 0 {
		line += "  " + widget.Sparkline(th, u.History[:], c.spark, theme.Info)
	}
	return line
}

// held says that a class has no room, and until when; "" when it has.
func (s *Screen) held(u limit.Usage) string {
	switch {
	case s.left(u.Blocked) > 0:
		return fmt.Sprintf("%s: the service asked all clients to wait; the next call is sent in %s", u.Class,
			s.span(s.left(u.Blocked)))
	case u.Over > 0:
		return fmt.Sprintf("%s: %d calls in the last minute exceeded the recommended rate", u.Class, u.Over)
	case u.Room == 0 && s.slot(u) > 0:
		return fmt.Sprintf("%s: used up; the next call waits %s and is then sent", u.Class, s.span(s.slot(u)))
	}
	return ""
}

// sentences say what the numbers mean for the next call.
func (s *Screen) sentences() []string {
	var out []string
	for _, u := range s.usage {
		if held := s.held(u); held != "" {
			out = append(out, held+".")
		}
	}
	for _, u := range s.usage {
		if sum := u.Sum(); sum != "" {
			out = append(out, sum)
		}
	}
	if s.policy == "warn" {
		out = append(out, "Policy warn: calls above the recommended rate are sent and marked; the service may answer 429.")
	} else {
		out = append(out, "Policy wait: calls keep to the recommended rate; people's calls go before background work.")
	}
	return append(out, "All consoles, commands and hosts with this store share these budgets. 429 counts the last hour.")
}

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Key { return s.PageKeys(false, keymap.All(s.env.Keys.Tariffs)...) }

// Title implements ui.Screen.
func (s *Screen) Title() string { return "Limits" }

// Place implements ui.Screen.
func (s *Screen) Place() ui.Place { return ui.Place{Kind: ui.KindLimits} }
