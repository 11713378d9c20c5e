package main

import (
	"time"
)

// noon is the time in every picture.
var noon = time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)

// scene is one picture: keys, each with what must be on the screen before the
// next one is pressed.
type scene struct {
	name, title string
	w, h        int
	steps       []step
}

type step struct{ key, then string }

// list waits for the operations, all of them.
var list = step{"", "500 operations"}

// scenes are the pictures of README and guides.
var scenes = []scene{
	{"operations", "The list of operations, from the local index", 120, 40, []step{list, {down, "2 of 500"}, {down, "3 of 500"}}},
	{"filter", "A filter being typed, its rows below", 120, 40, []step{list, {"/", "tab"}, {"status:PENDING cur", "/ status:PENDING cur"}}},
	{"operations-80x24", "The list in a small terminal", 80, 24, []step{list, {down, "2 of 500"}}},
	{"operation", "One operation", 120, 40, []step{list, {enter, "opens them"}}},
	{"documents", "The documents of an operation", 120, 40, []step{list, {"/", "tab"}, {"docs>=2 status:PENDING" + enter, "match"}, {"d", "remove"}}},
	{"question", "The question before a document is removed", 120, 40, []step{list, {"/", "tab"}, {"docs>=2 status:PENDING" + enter, "match"}, {"d", "remove"}, {"x", "enter"}}},
	{"compliance", "A customer's verification, step by step", 120, 40, []step{list, {enter, "opens them"}, {"c", "Verification"}}},
	{"limits", "Budgets per endpoint class", 120, 40, []step{list, {"5", "billing"}}},
	{"session", "The one shared session", 120, 40, []step{list, {"6", "live"}}},
	{"help", "Help: every key of this screen", 120, 40, []step{list, {"?", "╭─ Help"}}},
	{"palette", "The palette: everything by name", 120, 40, []step{list, {":", "╭"}}},
}

// Keys as a terminal sends them.
const (
	down  = "\x1b[B"
	enter = "\r"
)
