package ui

import (
	"strings"
	"time"

	"opdeck/internal/format"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
)

// keptCalls and keptNotes bound the activity list.
const (
	keptCalls = 200
	keptNotes = 200
)

// activityWord is the width of sign and word before the text of a line, the same for notices and calls.
const activityWord = 16

// activityText is the column where that text begins.
const activityText = len("  15:04:05  ") + activityWord + 1

// latestNotes is how many notices are above the calls.
const latestNotes = 8

// activity holds the running and finished calls, by id, and the notices.
type activity struct {
	calls []CallFacts // in the order they began
	notes []noted
}

type noted struct {
	at, first time.Time // when it was shown last, and first
	kind      Level
	text      string
	times     int // in a row
}

func (a *activity) call(f CallFacts) {
	for i := len(a.calls) - 1; i >= 0; i-- {
		if a.calls[i].ID == f.ID {
			a.calls[i] = f
			return
		}
	}
	if len(a.calls) >= keptCalls {
		a.calls = a.dropped()
	}
	a.calls = append(a.calls, f)
}

// dropped returns the calls without the oldest finished one.
func (a *activity) dropped() []CallFacts {
	for i, c := range a.calls {
		if c.Phase != CallWaits && c.Phase != CallRuns {
			return append(a.calls[:i:i], a.calls[i+1:]...)
		}
	}
	return a.calls[1:]
}

// note stores a notice. A repeated warning or error without another notice in between only raises its count.
func (a *activity) note(at time.Time, k Level, line string) {
	line = safe(line)
	if n := len(a.notes); n > 0 && k.bad() && a.notes[n-1].kind == k && a.notes[n-1].text == line {
		a.notes[n-1].at, a.notes[n-1].times = at, a.notes[n-1].times+1
		return
	}
	if len(a.notes) >= keptNotes {
		a.notes = append(a.notes[:0:0], a.notes[1:]...)
	}
	a.notes = append(a.notes, noted{at: at, first: at, kind: k, text: line, times: 1})
}

// newActivity returns the page that the key "!" opens.
func newActivity(s *Shell) *pager {
	p := newPager(s.win, 0, "Activity", nil)
	p.low = true
	p.lines = func(s *Shell) []string {
		var out []string
		for _, l := range activityLines(s) {
			out = append(out, draw.Hang(l, activityText, p.room(s))...)
		}
		return out
	}
	p.live = func(s *Shell, now time.Time) time.Time {
		var at time.Time
		for _, c := range s.activity.calls {
			switch c.Phase {
			case CallWaits:
				_, next := format.Until(s.head.goes(c), now)
				at = Sooner(at, next)
			case CallRuns:
				_, next := unanswered(c, now)
				at = Sooner(at, next)
			}
		}
		return at
	}
	return p
}

func activityLines(s *Shell) []string {
	now := s.win.now()
	var open, over []string
	for i := len(s.activity.calls) - 1; i >= 0; i-- {
		c := s.activity.calls[i]
		line := callLine(s, c, now)
		if c.Phase == CallWaits || c.Phase == CallRuns {
			open = append(open, line)
		} else {
			over = append(over, line)
		}
	}
	out := []string{s.win.th.Title.Render("Now")}
	for _, w := range s.sent.waiting() {
		out = append(out, "  "+s.win.th.Warn.Render(s.win.th.Signs.Wait+" sent, no answer yet: "+w))
	}
	out = append(out, open...)
	if len(out) == 1 {
		out = append(out, s.win.th.Dim.Render("  Nothing in progress."))
	}
	var notes []string
	for i := len(s.activity.notes) - 1; i >= 0; i-- {
		n := s.activity.notes[i]
		sign, word, tone := n.kind.look(s.win.th)
		text := n.text
		if n.times > 1 {
			text += s.win.th.Dim.Render("  " + times(n.times) + " since " + format.Clock(n.first, s.win.shown.zone))
		}
		notes = append(notes, "  "+s.win.th.Dim.Render(format.Clock(n.at, s.win.shown.zone))+"  "+
			s.win.th.Tone(tone).Render(draw.Fit(sign+" "+word, activityWord))+" "+text)
	}
	latest := min(len(notes), latestNotes)
	section := func(title string, lines []string) {
		out = append(out, "", s.win.th.Title.Render(title))
		if len(lines) == 0 {
			lines = []string{s.win.th.Dim.Render("  None yet.")}
		}
		out = append(out, lines...)
	}
	section("Notices", notes[:latest])
	section("Calls", over)
	if len(notes) > latest {
		section("Earlier notices", notes[latest:])
	}
	return out
}

func callLine(s *Shell, c CallFacts, now time.Time) string {
	th := s.win.th
	var sign, word string
	tone := theme.Plain
	switch c.Phase {
	case CallWaits:
		left, _ := format.Until(s.head.goes(c), now)
		sign, word, tone = th.Signs.Wait, "waits "+left, theme.Warn
	case CallRuns:
		ago, _ := unanswered(c, now)
		sign, word, tone = th.Signs.Info, strings.TrimSpace("running "+ago), theme.Info
		c.Note = c.moved()
	case CallDone:
		sign, word, tone = th.Signs.Good, "done", theme.Good
	case CallFailed:
		sign, word, tone = th.Signs.Bad, "failed", theme.Bad
	case CallUnknown:
		sign, word, tone = th.Signs.Unknown, "unknown", theme.Warn
	}
	line := "  " + th.Dim.Render(format.Clock(c.At, s.win.shown.zone)) + "  " +
		th.Tone(tone).Render(draw.Fit(sign+" "+word, activityWord)) + " " + safe(c.What)
	if c.Class != "" {
		line += th.Dim.Render("  " + safe(c.Class))
	}
	if c.Note != "" {
		line += "  " + th.Tone(tone).Render(safe(c.Note))
	}
	return line
}
