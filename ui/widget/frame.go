package widget

import (
	"strings"

	"opdeck/ui/draw"
	"opdeck/ui/theme"
)

// Box draws lines in a frame of exactly w by h cells with a title in its upper
// edge and a foot (keys) in its lower one. tone colours the frame. Lines beyond
// the frame are cut. Too small for a frame, it draws the lines alone.
func Box(th *theme.Theme, title string, lines []string, foot string, w, h int, tone theme.Tone) []string {
	if w < 8 || h < 3 {
		return draw.Lay(append([]string{th.Title.Render(draw.Cut(title, w))}, lines...), w, h)
	}
	s, frame := th.Signs, th.Tone(tone)
	in := w - 4
	out := make([]string, 0, h)
	out = append(out, edge(th, s.TopLeft, th.Title, title, s.TopRight, w, frame))
	for _, l := range draw.Lay(lines, in, h-2) {
		out = append(out, frame.Render(s.Side)+" "+draw.Pad(l, in)+" "+frame.Render(s.Side))
	}
	return append(out, edge(th, s.BottomLeft, th.Dim, foot, s.BottomRight, w, frame))
}

func edge(th *theme.Theme, left string, style theme.Style, label, right string, w int, frame theme.Style) string {
	label = draw.Cut(label, w-6)
	if label == "" {
		return frame.Render(left + strings.Repeat(th.Signs.Light, w-2) + right)
	}
	rest := w - 5 - draw.Width(label)
	return frame.Render(left+th.Signs.Light) + " " + style.Render(label) + " " +
		frame.Render(strings.Repeat(th.Signs.Light, rest)+right)
}

// Tabs draws names on one line of at most w cells with the active one marked by
// sign and style.
func Tabs(th *theme.Theme, names []string, active, w int) string {
	all := -2
	for _, n := range names {
		all += 2 + draw.Width(n) + 2
	}
	between := "  "
	if all > w { // the names matter more than the room between them
		between = " "
	}
	parts := make([]string, 0, len(names))
	used := 0
	for i, n := range names {
		sign := "  "
		style := th.Dim
		if i == active {
			sign, style = th.Signs.Cursor+" ", th.Title
		}
		n = sign + n
		if used+draw.Width(n) > w && i != active {
			continue
		}
		used += draw.Width(n) + len(between)
		parts = append(parts, style.Render(n))
	}
	return draw.Lay([]string{strings.Join(parts, between)}, w, 1)[0]
}
