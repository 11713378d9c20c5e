package ui

import (
	"opdeck/ui/draw"
	"opdeck/ui/theme"
)

// Named returns the title of a screen and, if a page covers the screen, the page's name; all safe. A nil screen has
// no name.
func Named(screen Screen) []string {
	if screen == nil {
		return nil
	}
	out := []string{safe(screen.Title())}
	if l := layerOf(screen); l != nil {
		out = append(out, safe(l.Crumb))
	}
	return out
}

// named names the open screens and the pages over them, the one on top last.
func (s *screenStack) named() (out []string) {
	for _, st := range s.stack {
		out = append(out, Named(st.screen)...)
	}
	return out
}

// crumbMost is the width of a name before the last one: that of a list with the short id of its object fits.
const crumbMost = 30

// crumbs draws the last of the names that fit into w cells.
func crumbs(th *theme.Theme, names []string, w int) string {
	if len(names) == 0 {
		return ""
	}
	sep := " " + th.Signs.Crumb + " "
	last := len(names) - 1
	out := draw.Cut(names[last], max(w, 1))
	used := draw.Width(out)
	out = th.Title.Render(out)
	for i := last - 1; i >= 0; i-- {
		t := draw.Cut(names[i], crumbMost)
		if used+draw.Width(t)+draw.Width(sep) > w {
			if more := th.Signs.More + sep; used+draw.Width(more) <= w {
				out = th.Dim.Render(more) + out
			}
			break
		}
		used += draw.Width(t) + draw.Width(sep)
		out = th.Dim.Render(t+sep) + out
	}
	return out
}
