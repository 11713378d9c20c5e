package limits

import (
	"fmt"
	"strings"
	"time"

	"opdeck/api/limit"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// plotsFrom is the width from which each class has a plot, two beside each other.
const plotsFrom = 120 - ui.Margins

// The heights of a plot in lines.
const (
	lowestPlot  = 2
	highestPlot = 4
)

// perMinute returns how many calls each minute had that ends with a step of the history; the minutes before the
// history are not known, so it begins with the first whole one.
func perMinute(h limit.History) []int {
	const minute = 6 // steps
	var out []int
	sum := 0
	for i, n := range h {
		if sum += n; i >= minute {
			sum -= h[i-minute]
		}
		if i >= minute-1 {
			out = append(out, sum)
		}
	}
	return out
}

// plots draws the calls per minute of all classes in at most h lines, two classes beside each other; none if they
// have no room.
func (s *Screen) plots(h int) []string {
	list := s.budgetsNow()
	rows := (len(list) + 1) / 2
	if s.W < plotsFrom || rows == 0 {
		return nil
	}
	each := min((h-1)/rows-2, highestPlot)
	if each < lowestPlot {
		return nil
	}
	half, axis := (s.W-3)/2, 0
	for _, b := range list {
		axis = max(axis, draw.Width(format.Count(b.Recommended))+1)
	}
	out := []string{s.env.Theme.Title.Render("Calls per minute") + s.env.Theme.Dim.Render(
		"  the last ten minutes; in a full column the recommended rate is used up")}
	for i := 0; i < len(list); i += 2 {
		left, right := s.plot(list[i], half, each, axis), []string(nil)
		if i+1 < len(list) {
			right = s.plot(list[i+1], half, each, axis)
		}
		out = append(append(out, widget.Beside(left, right, half)...), "")
	}
	return out[:len(out)-1]
}

// plot draws one class in w cells: a heading, and the columns of the minutes behind the recommended rate in axis cells.
func (s *Screen) plot(b present.Budget, w, h, axis int) []string {
	th, values := s.env.Theme, perMinute(b.History)
	full := 0
	for _, n := range values {
		if n >= b.Recommended {
			full++
		}
	}
	head := draw.Fit(s.cells(b)["class"], 10) + fmt.Sprintf("%d used of %d", b.Used, b.Recommended)
	if full > 0 && b.Recommended > 1 {
		head += ", used up for " + format.Duration(time.Duration(full)*limit.HistoryStep)
	}
	if b.Waiting > 0 {
		head += ", " + format.Count(b.Waiting) + " waiting"
	}
	out := []string{th.Strong.Render(draw.Cut(head, w))}
	for i, line := range widget.Plot(th, values, b.Recommended, w-axis, h, theme.Info, theme.Warn) {
		mark := strings.Repeat(" ", axis)
		if i == 0 {
			mark = draw.PadLeft(format.Count(b.Recommended)+" ", axis)
		} else if i == h-1 {
			mark = draw.PadLeft("0 ", axis)
		}
		out = append(out, th.Dim.Render(mark)+line)
	}
	return out
}
