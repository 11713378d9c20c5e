package list

import (
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
)

const (
	besideFrom = 140 // cells of the window from which on the preview has room
	besideLess = 56  // its least cells: an id with its label
	besideMost = 72
)

// beside is the preview: what is under the cursor, drawn beside the rows.
type beside struct {
	w     int    // its cells; 0: there is none
	row   string // whose it is
	top   int    // lines that it is scrolled by
	lines []string
	keep  *joined
}

// joined are the lines of the last frame: those that look as before are the same strings.
type joined struct {
	w                int    // of the rows
	side             string // between them
	left, right, out []string
}

// besideWidth is how many cells the preview takes now; 0: it is not shown.
func (l *List[T]) besideWidth() int {
	if l.spec.Beside == nil && l.spec.Detail == nil || l.w < besideFrom || l.Env.Theme.Linear || l.rows.Len() == 0 ||
		!l.Env.Preview() {
		return 0
	}
	return min(max(l.w*2/5, besideLess), besideMost)
}

// room is how many cells the rows have beside the preview.
func (l *List[T]) room() int {
	if l.beside.w == 0 {
		return l.w
	}
	return l.w - l.beside.w - 3
}

// layBeside makes the preview of the row under the cursor: once a message, not a frame.
func (l *List[T]) layBeside(h int) {
	b := &l.beside
	if b.lines = nil; b.w == 0 {
		return
	}
	var lines []string
	if l.spec.Beside != nil {
		lines = l.spec.Beside(b.w)
	} else {
		lines = widget.Pairs(l.Env.Theme, l.spec.Detail(), b.w)
	}
	if row := l.Table.SelectedID(); row != b.row {
		b.row, b.top = row, 0
	}
	b.top = max(min(b.top, len(lines)-h), 0)
	if lines = lines[b.top:]; len(lines) > h && h > 1 {
		th := l.Env.Theme
		more := len(lines) - h + 1
		lines = append(lines[:h-1:h-1], th.Dim.Render(th.Signs.More+" "+draw.Plural(more, "line", "lines")+" more, "+
			l.Env.Keys.List.Open.Help().Key+" opens it"))
	}
	b.lines = draw.Lay(lines, b.w, h)
}

// join puts the preview beside the lines of the table.
func (b *beside) join(rows []string, w int, side string) []string {
	if b.w == 0 || len(b.lines) < len(rows) {
		return rows
	}
	k := b.keep
	out := make([]string, len(rows))
	for i, row := range rows {
		if w == k.w && side == k.side && i < len(k.out) && k.left[i] == row && k.right[i] == b.lines[i] {
			out[i] = k.out[i]
			continue
		}
		out[i] = draw.Pad(row, w) + side + b.lines[i]
	}
	k.w, k.side, k.left, k.right, k.out = w, side, rows, b.lines, out
	return out
}

// switchBeside shows or hides the preview, and says so where it has no room.
func (l *List[T]) switchBeside() ui.Action {
	on := !l.Env.Preview()
	act := l.Env.SwitchPreview()
	if on && l.w < besideFrom {
		return ui.Many{act, ui.Notify{Level: ui.Info, Text: "The preview is on. It needs " + draw.Count(besideFrom) +
			" columns; this window has " + draw.Count(l.w) + "."}}
	}
	return act
}
