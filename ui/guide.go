package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/draw"
)

// Guide guides a person through tasks on the screens. The shell calls its methods only
// in the update loop.
type Guide interface {
	// Says returns the current task: its heading, and a sentence on how to do it. Both are
	// safe; empty when no tour is running.
	Says() (heading, how string)
	// See is called after each message with the screen on top and the news, if any. It returns a notice for the
	// person; nil for none.
	See(Sight) *Notify
}

// Sight is the argument of Guide.See.
type Sight struct {
	Screen Screen       // on top; never nil
	News   BroadcastMsg // the broadcast to all screens; nil for any other message
}

// The lines of the guide above the screen: heading, text and a gap. A low window has only the text.
const (
	guideHeight = 4
	guideLow    = 3
)

func (s *window) guideLines() int {
	if s.opt.Guide == nil {
		return 0
	}
	switch heading, how := s.opt.Guide.Says(); {
	case heading == "":
		return 0
	case s.h < 16:
		return min(len(draw.Wrap(how, max(s.w-2, 1))), guideLow)
	}
	return guideHeight
}

// look calls the guide's See with the screen on top.
func (s *router) look(news BroadcastMsg) tea.Cmd {
	top := s.top()
	if s.opt.Guide == nil || top == nil {
		return nil
	}
	if said := s.opt.Guide.See(Sight{Screen: top.screen, News: news}); said != nil {
		return s.notify(said.Level, said.Text)
	}
	return nil
}

// fitGuide reserves or releases the lines of the guide.
func (s *router) fitGuide() {
	if n := s.guideLines(); n != s.guided {
		s.guided = n
		s.resize(s.w, s.h)
	}
}

// drawGuide returns the lines of the guide; they cover nothing.
func (s *window) drawGuide() []string {
	if s.guided == 0 {
		return nil
	}
	heading, how := s.opt.Guide.Says()
	var lines []string
	text := draw.Wrap(how, max(s.w-2, 1))
	if s.guided == guideHeight {
		lines = []string{s.th.Accent.Render(draw.Cut(s.th.Signs.Info+" "+heading, s.w))}
		text = text[:min(len(text), guideHeight-2)] // a line stays free above the screen
	}
	for i, l := range text {
		sign := "  "
		if len(lines) == 0 && i == 0 {
			sign = s.th.Accent.Render(s.th.Signs.Info) + " "
		}
		lines = append(lines, sign+l)
	}
	return draw.Lay(lines, s.w, s.guided)
}
