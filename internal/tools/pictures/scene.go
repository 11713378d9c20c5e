package main

import (
	"context"
	"slices"
	"time"

	"opdeck/api"
	"opdeck/internal/app"
)

// noon is the time in every picture.
var noon = time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)

// scene is one picture: keys, each with the text that must then appear.
type scene struct {
	name, title string
	w, h        int
	// where must be in the title line of the last frame, word anywhere: otherwise the picture shows something else.
	where, word string
	steps       []step
	first       bool   // before anything was read
	more        string // settings beside the usual ones
	hooks       string // further settings of [webhooks]
	env         string // a variable of the terminal to set to 1
	plain       bool   // in plain mode
	again       bool   // in another size: its content was checked already
	// patience is the longest wait for a text, which only a picture that cannot be made takes; zero: a minute.
	patience time.Duration
	// the person; zero: ana, with all permissions
	as     api.Actor
	before func(ctx context.Context, a *app.App, ids []string) error // runs before the picture; ids are operations
}

// step is a key, or a text typed quickly, and the text that must then appear and must not be there before: content that
// the next key needs, as a title appears before its content. {dir} is a folder with a file note.txt.
type step struct{ key, then string }

// list waits for all operations.
var list = step{"", "500 operations"}

// Common steps.
var (
	toDocuments = []step{list, {"/", "esc cancel"}, {"docs>=2 status:PENDING" + enter, "match"}, {"d", "R replace"}}
	toCustomer  = []step{list, {enter, "next link"}, {"C", "Verification"}}
	removed     = then(toDocuments, step{"x", "[ No ]"}, step{"y", "Removed "})
)

func then(way []step, more ...step) []step { return append(append([]step(nil), way...), more...) }

// at is a scene at another size.
func (s scene) at(w, h int) scene {
	s.w, s.h = w, h
	s.name += "-80x24"
	s.title += ", in a small terminal"
	return s
}

// secondPerson requires approval for every write.
const secondPerson = `default_context = "desk"
[contexts.desk]
sandbox = true
approval = "second_person"
`

// large are the pictures at 120x40.
var large = []scene{
	{name: "operations", title: "The list of operations, from the local index", where: "Operations", word: "3 of 500",
		steps: []step{list, {down, "2 of 500"}, {down, "3 of 500"}}},
	{name: "filter", title: "A filter being typed, its rows below", where: "Operations", word: "status:PENDING cur",
		steps: []step{list, {"/", "esc cancel"}, {"status:PENDING cur", "status:PENDING cur"}}},
	{name: "totals", title: "Totals by currency", where: "Operations", word: "by status",
		steps: []step{list, {"T", "by status"}}},
	{name: "operation", title: "One operation", where: "Operations › ", word: "reference",
		steps: []step{list, {enter, "next link"}}},
	{name: "history", title: "What happened to an operation", where: "› History", word: "2 states",
		steps: then(removed, step{"2", "› Operation"}, step{"h", "2 states"})},
	{name: "documents", title: "The documents of an operation", where: "› Documents", word: "remove", steps: toDocuments},
	{name: "question", title: "The question before a document is removed", where: "› Documents", word: "[ No ]",
		steps: then(toDocuments, step{"x", "[ No ]"})},
	{name: "compliance", title: "A customer's verification, step by step", where: "› Harbour ", word: "Verification",
		steps: toCustomer},
	{name: "customers", title: "All customers", where: "› Customers", word: "20 customers",
		steps: then(toCustomer, step{"4", "20 customers"})},
	{name: "limits", title: "Budgets per endpoint class", where: "› Limits", word: "policy wait",
		steps: []step{list, {"5", "policy wait"}}},
	{name: "session", title: "The one shared session", where: "› Session", word: "generation",
		steps: []step{list, {"6", "generation"}}},
	{name: "events", title: "Webhook events", where: "› Events", word: "verified", before: deliver,
		steps: []step{list, {"7", "Events"}}},
	{name: "audit", title: "The audit trail", where: "› Audit", word: "remove",
		steps: then(removed, step{"8", "› Audit"})},
	{name: "approvals", title: "Writes waiting for a second person", where: "› Approvals", word: "+ approve",
		more: secondPerson, before: request, steps: []step{list, {"8", "› Audit"}, {"Q", "› Approvals"}}},
	{name: "help", title: "Help: every key of this screen", where: "Operations", word: "╭─ Help",
		steps: []step{list, {"?", "╭─ Help"}}},
	{name: "palette", title: "The palette: everything by name", where: "Operations", word: "╭─ Commands",
		steps: []step{list, {":", "╭─ Commands"}}},
	{name: "activity", title: "Activity", where: "› Documents", word: "remove document",
		steps: then(removed, step{"!", "Activity"})},
}

// scenes are the pictures of README and guides, in a large and a small terminal, and those for review, in one size.
func scenes() []scene {
	var out []scene
	for _, s := range large {
		s.w, s.h = 120, 40
		out = append(out, s, s.at(80, 24))
	}
	for _, s := range slices.Concat(looked, lookedOperations, lookedOnCall) {
		if s.w == 0 {
			s.w, s.h = 120, 40
		}
		out = append(out, s)
	}
	return out
}

// Keys as a terminal sends them.
const (
	down  = "\x1b[B"
	right = "\x1b[C"
	enter = "\r"
	esc   = "\x1b"
	tab   = "\t"
)
