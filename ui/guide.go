package ui

import "opdeck/ui/draw"

// Guide leads a person through tasks on the screens themselves. It is asked and told
// in the update loop only.
type Guide interface {
	// Says is the task at hand: its heading, and a sentence on how it is done. Both are
	// safe; empty when nobody is led.
	Says() (heading, how string)
	// See is told what is on top after each message, with the news that came, if any.
	See(Sight)
}

// Sight is what a Guide sees.
type Sight struct {
	Screen Screen       // on top; never nil
	News   BroadcastMsg // what was told to all screens; nil: something else happened
}

// guideHeight is how many lines the guide's words take, above the screen; in a low window
// there is room for the heading alone.
const guideHeight = 3

func (s *window) guideLines() int {
	if s.opt.Guide == nil {
		return 0
	}
	switch heading, _ := s.opt.Guide.Says(); {
	case heading == "":
		return 0
	case s.h < 16:
		return 1
	}
	return guideHeight
}

// look tells the guide what is on top.
func (s *screenStack) look(news BroadcastMsg) {
	if top := s.top(); s.opt.Guide != nil && top != nil {
		s.opt.Guide.See(Sight{Screen: top.screen, News: news})
	}
}

// fitGuide makes room for the guide's words, or gives it back.
func (s *router) fitGuide() {
	if n := s.guideLines(); n != s.guided {
		s.guided = n
		s.resize(s.w, s.h)
	}
}

// drawGuide is the guide's words; they cover nothing.
func (s *window) drawGuide() []string {
	if s.guided == 0 {
		return nil
	}
	heading, how := s.opt.Guide.Says()
	lines := []string{s.th.Accent.Render(draw.Cut(s.th.Signs.Info+" "+heading, s.w))}
	for _, l := range draw.Wrap(how, max(s.w-2, 1)) {
		lines = append(lines, "  "+l)
	}
	return draw.Lay(lines, s.w, s.guided)
}
