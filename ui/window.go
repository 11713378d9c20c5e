package ui

import (
	"context"
	"time"

	"opdeck/ui/keymap"
	"opdeck/ui/theme"
)

// The smallest window that is drawn in full, in cells.
const (
	MinWidth  = 20
	MinHeight = 5
)

// window holds the terminal's size, theme and keys, and facts that do not change while
// the console runs.
type window struct {
	opt   Options
	th    *theme.Theme
	keys  *keymap.Map
	now   func() time.Time
	root  context.Context
	end   context.CancelFunc
	shown *display
	w, h  int
}

// fits reports whether the window has room for dialogs and screens.
func (s *window) fits() bool { return s.w >= MinWidth && s.h >= MinHeight }

// Margins is the number of cells beside a screen, half of them on each side, in all but narrow windows.
const Margins = 2

// margin returns the cells to the left of the screen, and as many are to its right.
func (s *window) margin() int {
	if s.compact() || s.th.Linear {
		return 0
	}
	return Margins / 2
}

// body returns the size of screens.
func (s *window) body() (w, h int) {
	return s.w - 2*s.margin(), max(s.h-s.chrome(), 0)
}

// chrome returns the number of lines of the shell: header, rule, hints and, if there
// is room, the line for notices.
func (s *window) chrome() int {
	if s.h < 8 {
		return 3
	}
	return 4 + s.mapped()
}

// headed returns the number of lines above the screen: header, rule and map.
func (s *window) headed() int { return 2 + s.mapped() }

// area returns the room for dialogs: the body, and in a low window also the lines below it.
func (s *window) area() (w, h int) {
	_, h = s.body()
	if s.h < 12 {
		h = s.h - 2
	}
	return s.w, h
}
