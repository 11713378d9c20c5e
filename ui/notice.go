package ui

import (
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/format"
	"opdeck/ui/theme"
)

// How long a notice is shown.
const (
	noticeShort = 5 * time.Second
	noticeLong  = 10 * time.Second
)

// statusLine is the line of notices.
type statusLine struct {
	win      *window
	stack    *screenStack
	dialogs  *dialogStack
	sent     *sentWrites
	activity *activity
	lock     *idleLock // keeps notices that arrive while the screen is blank
	notice   notice
	waits    []notice // news that are shown after notice
}

// notice is the line at the bottom.
type notice struct {
	kind  Level
	text  string
	hint  Hint
	layer *Layer // what covered the screen when it was made: the key of the hint works only there
	until time.Time
	shows time.Duration // how long it is shown
	news  bool          // not the answer to a key
	times int           // how often it was repeated while it was shown
	about *verdict.Finding
}

// take shows news that are notices, and a verdict whose first cause is another one.
func (s *statusLine) take(msg BroadcastMsg) {
	switch m := msg.(type) {
	case VerdictFacts:
		if t, changed := s.newVerdict(m); changed {
			s.toast(t)
		}
	case Toast:
		s.toast(m)
	}
}

// bad reports whether a notice of this level is a warning or error, which is counted.
func (k Level) bad() bool { return k == Error || k == Warning }

// times returns the count as text.
func times(n int) string { return format.Count(n) + " times" }

// notify shows a notice and keeps it in the activity list.
func (s *statusLine) notify(k Level, line string) tea.Cmd {
	return s.tell(Notify{Level: k, Text: line})
}

// tell is notify for a notice with a hint.
func (s *statusLine) tell(n Notify) tea.Cmd {
	s.activity.note(s.win.now(), n.Level, n.Text)
	return s.put(s.made(n))
}

// hint shows a notice without a record, such as that a key has no effect here.
func (s *statusLine) hint(k Level, line string) tea.Cmd {
	return s.put(s.made(Notify{Level: k, Text: line}))
}

// put shows a notice instead of the current one.
func (s *statusLine) put(n notice) tea.Cmd {
	if s.lock.on {
		s.lock.hold(&s.notice, n)
	} else {
		s.notice = n
	}
	s.reportNotice(n)
	return nil
}

// made returns a notice with the current time.
func (s *statusLine) made(of Notify) notice {
	k, shows := of.Level, noticeShort
	if k == Error || k == Denied || k == Warning {
		shows = noticeLong
	}
	line := untrusted.Text(of.Text).Line(400) // safe to draw, whatever its source
	n := notice{kind: k, text: line, hint: of.Hint, until: s.win.now().Add(shows), shows: shows, times: 1}
	n.hint.Text = untrusted.Text(of.Hint.Text).Line(200)
	if top := s.stack.top(); top != nil {
		n.layer = layerOf(top.screen)
	}
	if k.bad() && s.notice.kind == k && s.notice.text == line {
		n.times += s.notice.times
	}
	return n
}

func (s *statusLine) reportNotice(n notice) {
	if s.win.opt.Report != nil {
		s.win.opt.Report(Notify{Level: n.kind, Text: s.withHint(n, n.text)})
	}
}

// withHint returns the text of a notice with its hint, if that helps on the current screen.
func (s *statusLine) withHint(n notice, text string) string {
	at, layer := Place{}, (*Layer)(nil)
	if top := s.stack.top(); top != nil {
		at, layer = top.screen.Place(), layerOf(top.screen)
	}
	if !n.hint.helps(at) || n.hint.Works != (Place{}) && layer != n.layer {
		return text
	}
	return text + " " + n.hint.Text
}

// toast shows news. It replaces no notice: earlier or more important ones are shown first,
// and the others after them. A notice after a key does replace the current one.
func (s *statusLine) toast(t Toast) {
	for _, line := range t.Each {
		s.activity.note(s.win.now(), t.Level, line)
	}
	if len(t.Each) == 0 {
		s.activity.note(s.win.now(), t.Level, t.Text)
	}
	n := s.made(Notify{Level: t.Level, Text: t.Text, Hint: t.Hint})
	n.news, n.about = true, t.About
	switch old := s.notice; {
	case s.lock.on:
		s.lock.hold(&s.notice, n)
	case old.text == "" || !old.news || old.text == n.text:
		s.notice = n
	case n.kind.weight() > old.kind.weight() && old.kind != Info:
		s.notice = n
		s.wait(old)
	default:
		s.wait(n)
	}
	s.reportNotice(n)
}

// mostWaiting is the maximum of waiting notices; above it the oldest is only in the activity list.
const mostWaiting = 4

func (s *statusLine) wait(n notice) {
	if slices.ContainsFunc(s.waits, func(w notice) bool { return w.text == n.text }) {
		return
	}
	if s.waits = append(s.waits, n); len(s.waits) > mostWaiting {
		s.waits = s.waits[1:]
	}
}

// expireNotice removes an expired notice and shows the next waiting one.
func (s *statusLine) expireNotice(now time.Time) {
	if s.notice.expire(now); s.notice.text == "" && len(s.waits) > 0 && !s.lock.on {
		s.notice, s.waits = s.waits[0], s.waits[1:]
		s.notice.until = now.Add(s.notice.shows)
	}
}

func (n *notice) expire(now time.Time) {
	if !n.until.IsZero() && !now.Before(n.until) {
		*n = notice{}
	}
}

// fadeNotice removes a notice of the previous screen, unless it is a warning or error.
func (s *statusLine) fadeNotice() {
	if s.notice.kind == Info || s.notice.kind == Denied {
		s.notice = notice{}
	}
	s.expireNotice(s.win.now())
}

// look returns sign, word and tone of a level.
func (k Level) look(th *theme.Theme) (sign, word string, tone theme.Tone) {
	switch k {
	case Success:
		return th.Signs.Good, "done", theme.Good
	case Warning:
		return th.Signs.Warn, "careful", theme.Warn
	case Error:
		return th.Signs.Bad, "failed", theme.Bad
	case Denied:
		return th.Signs.Off, "off", theme.Warn
	}
	return th.Signs.Info, "", theme.Info
}
