package ui

import (
	"slices"
	"strings"

	"opdeck/ui/draw"
)

// A window of at least these cells has the line that names the screens.
const (
	mapWidth  = 80
	mapHeight = 20
)

// mapNames are the names of the screens of the number keys, in their order.
var mapNames = [...]string{"Operations", "Operation", "Documents", "Compliance", "Limits", "Session", "Events", "Audit"}

// mapShort are the short names for a line without room for all of mapNames: as few of them as necessary are used, the
// first one first. None is the beginning of another name, so "Op" is not one of them. All of them fit into mapWidth.
var mapShort = [...]struct{ name, short string }{{"Operations", "Ops"}, {"Documents", "Docs"}, {"Compliance", "Compl."}}

// mapped returns the number of lines of the map: 1 or 0.
func (s *window) mapped() int {
	if s.w < mapWidth || s.h < mapHeight || s.th.Linear {
		return 0
	}
	return 1
}

// besides are places that belong to no numbered screen, whichever one they were opened from.
var besides = []string{KindOnCall, "accounts", "counterparties"}

// here returns the index of the numbered screen that the person is on, or came from to the one on top; -1: none.
func (s *screenStack) here() int {
	for i := len(s.stack) - 1; i >= 0; i-- {
		at := s.stack[i].screen.Place().Kind
		if slices.Contains(besides, at) {
			return -1
		}
		for n, kind := range placeKinds {
			if at == kind {
				return n
			}
		}
	}
	return -1
}

// mapLines returns the line that names the screens with their keys; none where it has no room.
func (s *topLine) mapLines() []string {
	if s.win.mapped() == 0 {
		return nil
	}
	var keys [len(mapNames)]string
	for i, k := range s.win.keys.Global.Places() {
		keys[i] = k.Help().Key
	}
	return []string{s.drawMap(keys, s.stack.here())}
}

// drawMap draws the map; the present screen is marked by sign and style. Its names depend on the width alone: no name
// moves when another screen becomes the present one.
func (s *topLine) drawMap(keys [len(mapNames)]string, here int) string {
	line := func(names [len(mapNames)]string, gap string) string {
		var b strings.Builder
		for i, key := range keys {
			sign, style := " ", s.win.th.Dim
			if i == here {
				sign, style = s.win.th.Signs.Cursor, s.win.th.Title
			}
			if i > 0 {
				b.WriteString(gap)
			}
			b.WriteString(s.win.th.Accent.Render(sign) + s.win.th.Key.Render(key) + " " + style.Render(names[i]))
		}
		return b.String()
	}
	names := mapNames
	lines := []string{line(names, "  "), line(names, " ")}
	for _, n := range mapShort {
		names[slices.Index(mapNames[:], n.name)] = n.short
		lines = append(lines, line(names, " "))
	}
	return draw.Fitting(s.win.w-1, lines...)
}
