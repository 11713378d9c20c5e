package ui

import (
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
	"opdeck/internal/format"
	"opdeck/ui/theme"
)

// How long a notice stands.
const (
	noticeShort = 5 * time.Second
	noticeLong  = 10 * time.Second
)

// statusLine is the line of notices, and the lock that blanks the screen of a person who
// went away: what comes meanwhile is kept for it.
type statusLine struct {
	*window
	*screenStack
	*dialogStack
	*sentWrites
	*topLine
	notice notice
	waits  []notice // news that are shown when that is over
	lock   idleLock
}

// notice is the line at the bottom.
type notice struct {
	kind  Level
	text  string
	until time.Time
	stand time.Duration // how long it is shown
	news  bool          // not the answer to a key
	times int           // how often it was said in a row, while it stood
}

// bad reports whether a notice of this level is bad news, which are counted.
func (k Level) bad() bool { return k == Error || k == Warning }

// times says how often.
func times(n int) string { return format.Count(n) + " times" }

// notify shows a notice and keeps it in the activity list.
func (s *statusLine) notify(k Level, line string) tea.Cmd {
	s.activity.note(s.now(), k, line)
	return s.hint(k, line)
}

// hint shows what is worth no record: that a key does nothing here.
func (s *statusLine) hint(k Level, line string) tea.Cmd {
	n := s.made(k, line)
	if s.lock.on {
		s.lock.hold(&s.notice, n)
	} else {
		s.notice = n
	}
	s.tellNotice(n)
	return nil
}

// made is a notice of now.
func (s *statusLine) made(k Level, line string) notice {
	stand := noticeShort
	if k == Error || k == Denied || k == Warning {
		stand = noticeLong
	}
	line = untrusted.Text(line).Line(400) // whoever made it, it is drawn safely
	n := notice{kind: k, text: line, until: s.now().Add(stand), stand: stand, times: 1}
	if k.bad() && s.notice.kind == k && s.notice.text == line {
		n.times += s.notice.times
	}
	return n
}

func (s *window) tellNotice(n notice) {
	if s.opt.Tell != nil {
		s.opt.Tell(Notify{n.kind, n.text})
	}
}

// toast shows news. It takes nobody's place: what came before, or weighs more, stands
// first, and the others come when it is over. One that a key brings does take the place.
func (s *statusLine) toast(t Toast) {
	for _, line := range t.Each {
		s.activity.note(s.now(), t.Level, line)
	}
	if len(t.Each) == 0 {
		s.activity.note(s.now(), t.Level, t.Text)
	}
	n := s.made(t.Level, t.Text)
	n.news = true
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
	s.tellNotice(n)
}

// mostWaiting is how many notices wait at most; the oldest is then only in the activity.
const mostWaiting = 4

func (s *statusLine) wait(n notice) {
	if slices.ContainsFunc(s.waits, func(w notice) bool { return w.text == n.text }) {
		return
	}
	if s.waits = append(s.waits, n); len(s.waits) > mostWaiting {
		s.waits = s.waits[1:]
	}
}

// expireNotice takes a notice away whose time is over; the next one that waits stands
// from now on.
func (s *statusLine) expireNotice(now time.Time) {
	if s.notice.expire(now); s.notice.text == "" && len(s.waits) > 0 && !s.lock.on {
		s.notice, s.waits = s.waits[0], s.waits[1:]
		s.notice.until = now.Add(s.notice.stand)
	}
}

func (n *notice) expire(now time.Time) {
	if !n.until.IsZero() && !now.Before(n.until) {
		*n = notice{}
	}
}

// fadeNotice drops a notice that belonged to the screen before, unless it is bad news.
func (s *statusLine) fadeNotice() {
	if s.notice.kind == Info || s.notice.kind == Denied {
		s.notice = notice{}
	}
	s.expireNotice(s.now())
}

// look is sign, word and tone of a kind of notice.
func (k Level) look(th *theme.Theme) (sign, word string, tone theme.Tone) {
	switch k {
	case Success:
		return th.Signs.Good, "done", theme.Good
	case Warning:
		return th.Signs.Warn, "careful", theme.Warn
	case Error:
		return th.Signs.Bad, "error", theme.Bad
	case Denied:
		return th.Signs.Off, "off", theme.Warn
	}
	return th.Signs.Info, "", theme.Info
}
