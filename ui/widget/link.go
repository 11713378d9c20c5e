package widget

import (
	"opdeck/ui/draw"
	"opdeck/ui/theme"
)

// Link is a target of the cursor of a page: a fact, or something to open. All its
// texts except Copy are safe.
type Link struct {
	ID    string // unique on the page; "": no link
	Copy  string // what is copied, exactly
	What  string // names that: "the account number"
	Opens bool   // something opens: the cursor goes from one of these to the next
}

// cursor draws what can be linked, and the sign of the link that it is on.
type cursor struct {
	th     *theme.Theme
	at     string
	label  int  // the least cells of labels
	linked bool // there is room for the sign before each line
	headed bool // the lines are below a heading
}

func (c cursor) on(l Link) bool { return l.ID != "" && l.ID == c.at }

// indent is the width of the cursor's sign with the gap after it.
const indent = 2

// Indent is how many cells to the right of its heading everything below it begins, on a page of w cells: the cursor's
// sign has room there. A narrow page has no cells to spare.
func Indent(th *theme.Theme, w int) int {
	if th.Linear || w < 50 {
		return 0
	}
	return indent
}

// sign is before a line.
func (c cursor) sign(on bool) string {
	switch {
	case on:
		return c.th.Selected(theme.Accent).Render(c.th.Signs.Cursor) + c.th.Selected(theme.Plain).Render(" ")
	case c.linked, c.headed:
		return draw.Space(indent)
	}
	return ""
}

// LinesAt is drawn lines of at most w cells, each with a link or none, with the cursor on
// the link at; line is where that is, -1: it is not here. A line that is too long continues
// below itself, in the column that its text begins in, hang cells from the left. headed: they are below a heading.
func LinesAt(th *theme.Theme, lines []string, links []Link, w, hang int, headed bool, at string) (out []string,
	line int) {
	c := cursor{th: th, at: at, linked: len(links) > 0 && !th.Linear, headed: headed && Indent(th, w) > 0}
	room := max(w-draw.Width(c.sign(false)), 1)
	line = -1
	for i, l := range lines {
		on := i < len(links) && c.on(links[i])
		if on {
			line = len(out)
		}
		for k, part := range draw.Hang(l, hang, room) {
			if on {
				part = th.Selected(theme.Plain).Render(draw.Pad(draw.Unstyled(part), room))
			}
			if part == "" && !on {
				out = append(out, "")
				continue
			}
			out = append(out, c.sign(on && k == 0)+part)
		}
	}
	return out, line
}
