package widget

import (
	"slices"

	"github.com/charmbracelet/x/ansi"

	"opdeck/ui/draw"
	"opdeck/ui/theme"
)

// Link is what the cursor of a page stands on: a fact, or what can be opened. All its
// texts but Copy are safe.
type Link struct {
	ID    string // tells it from the others of the page; empty: there is none
	Copy  string // what is copied, exactly
	What  string // names that: "the account number"
	Opens bool   // something opens: the cursor goes from one of these to the next
}

// cursor draws what can be linked, and the sign of the link that it is on.
type cursor struct {
	th     *theme.Theme
	at     string
	linked bool // there is room for the sign before each line
}

func (c cursor) on(l Link) bool { return l.ID != "" && l.ID == c.at }

// sign stands before a line.
func (c cursor) sign(on bool) string {
	switch {
	case on:
		return c.th.Selected(theme.Accent).Render(c.th.Signs.Cursor) + c.th.Selected(theme.Plain).Render(" ")
	case c.linked:
		return "  "
	}
	return ""
}

// LinesAt is drawn lines, each with a link or none, with the cursor on the link at; line
// is where that is, -1: it is not here.
func LinesAt(th *theme.Theme, lines []string, links []Link, w int, at string) (out []string, line int) {
	c := cursor{th: th, at: at, linked: len(links) > 0 && !th.Linear}
	out, line = slices.Clone(lines), -1
	for i := range out {
		on := i < len(links) && c.on(links[i])
		if on {
			line = i
			out[i] = th.Selected(theme.Plain).Render(draw.Fit(ansi.Strip(out[i]), max(w-2, 0)))
		}
		out[i] = c.sign(on) + out[i]
	}
	return out, line
}
