package ui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
	"opdeck/ui/theme"
)

// How long a notice stands.
const (
	noticeShort = 5 * time.Second
	noticeLong  = 10 * time.Second
)

// notice is the line at the bottom.
type notice struct {
	kind  Level
	text  string
	until time.Time
}

// notify shows a notice and keeps it in the activity list.
func (s *Shell) notify(k Level, line string) tea.Cmd {
	line = untrusted.Text(line).Line(400) // whoever made it, it is drawn safely
	now := s.now()
	stand := noticeShort
	if k == Error || k == Denied || k == Warning {
		stand = noticeLong
	}
	n := notice{k, line, now.Add(stand)}
	if s.lock.on {
		s.lock.hold(&s.notice, n)
	} else {
		s.notice = n
	}
	s.activity.note(now, k, line)
	if s.opt.Tell != nil {
		s.opt.Tell(Notify{k, line})
	}
	return nil
}

func (n *notice) expire(now time.Time) {
	if !n.until.IsZero() && !now.Before(n.until) {
		*n = notice{}
	}
}

// fade drops a notice that belonged to the screen before, unless it is bad news.
func (n *notice) fade() {
	if n.kind == Info || n.kind == Denied {
		*n = notice{}
	}
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
