package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/keymap"
)

// Stepper is for screens that show one record of their own list over it. Step shows
// the record that stands by rows further down (1) or up (-1); ok is false while no
// record is shown.
type Stepper interface {
	Step(by int) (a Action, cmd tea.Cmd, ok bool)
}

// step goes from the object on the screen to the one beside it in the list it was
// opened from: the nearest list below. Its cursor moves along.
func (s *router) step(top *openScreen, key keymap.Key, by int) tea.Cmd {
	if sub, ok := top.screen.(Stepper); ok {
		if a, cmd, ok := sub.Step(by); ok {
			return tea.Batch(s.perform(top, a), cmd)
		}
	}
	p := top.screen.Place()
	i := s.listBelow(p)
	switch {
	case p.ID == "":
		return s.hint(Info, key.Help().Key+" moves through a list from inside one of its records.")
	case i < 0:
		return s.hint(Info, "Not opened from a list, so "+key.Help().Key+" does nothing.")
	}
	list := s.stack[i]
	move := s.keys.Nav.Down
	if by < 0 {
		move = s.keys.Nav.Up
	}
	cmd := s.deliver(list, move.Msg())
	kind := subjectKind(p.Kind)
	next := list.screen.(SubjectOf).Subject(kind)
	switch {
	case next == p.ID && by > 0:
		return tea.Batch(cmd, s.hint(Info, "Last one in the list."))
	case next == p.ID:
		return tea.Batch(cmd, s.hint(Info, "First one in the list."))
	case next == "": // a row that is not read yet: its answer is on the way
		return tea.Batch(cmd, s.hint(Info, "That row is still being read; press "+key.Help().Key+" again."))
	}
	return tea.Batch(cmd, s.swapAbove(list.id, Place{Kind: p.Kind, ID: next, Arg: p.Arg}))
}

// subjectKind is what a place is about, as SubjectOf names it.
func subjectKind(kind string) string {
	if kind == KindCompliance {
		return KindCompliance
	}
	return KindOperation
}

// listBelow is the nearest screen below the top whose rows hold the object of p; the
// cursor is on it then. -1: there is none.
func (s *screenStack) listBelow(p Place) int {
	for i := len(s.stack) - 2; i >= 0 && p.ID != ""; i-- {
		screen := s.stack[i].screen
		rows, ok := screen.(Selecter)
		about, ok2 := screen.(SubjectOf)
		if !ok || !ok2 || screen.Place().ID == p.ID {
			continue
		}
		if about.Subject(subjectKind(p.Kind)) == p.ID || rows.Select(p.ID) && about.Subject(subjectKind(p.Kind)) == p.ID {
			return i
		}
	}
	return -1
}

// swapAbove puts the screen of a place over stack entry id, in the place of all that
// was above it; it asks first when one of those holds typed text.
func (s *router) swapAbove(id screenID, p Place) tea.Cmd {
	swap := func(s *Shell) tea.Cmd {
		if s.find(id) == nil {
			return nil
		}
		next := s.mount(p)
		if next == nil {
			return s.unknownPlace(p)
		}
		for s.top().id != id {
			s.unmount(s.top())
			s.stack = s.stack[:len(s.stack)-1]
		}
		s.stack = append(s.stack, next)
		return s.begin(next)
	}
	for i := len(s.stack) - 1; s.stack[i].id != id; i-- {
		if what := unsaved(s.stack[i]); what != "" {
			return s.askDiscard(what, "", swap)
		}
	}
	return s.perform(nil, do(swap))
}
