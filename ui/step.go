package ui

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/keymap"
)

// Stepper is implemented by screens that show one record above their own list. Step shows
// the record that is by rows further down (1) or up (-1); ok is false while no
// record is shown.
type Stepper interface {
	Step(by int) (a Action, cmd tea.Cmd, ok bool)
}

// step goes from the object on the screen to the next or previous one in the nearest list
// below it in the stack. The cursor of that list moves, too.
func (s *router) step(top *openScreen, key keymap.Key, by int) tea.Cmd {
	if sub, ok := top.screen.(Stepper); ok {
		if a, cmd, ok := sub.Step(by); ok {
			return tea.Batch(s.perform(top, a), cmd)
		}
	}
	p := top.screen.Place()
	i := s.stack.listBelow(p)
	switch {
	case p.ID == "":
		return s.status.hint(Info, key.Help().Key+" moves through a list from inside one of its records.")
	case i < 0:
		return s.status.hint(Info, "You did not open this from a list, so "+key.Help().Key+" does nothing.")
	}
	list := s.stack.stack[i]
	move := s.win.keys.Nav.Down
	if by < 0 {
		move = s.win.keys.Nav.Up
	}
	cmd := s.deliver(list, move.Msg())
	kind := subjectKind(p.Kind)
	next := list.screen.(SubjectOf).Subject(kind)
	switch {
	case next == p.ID && by > 0:
		return tea.Batch(cmd, s.status.hint(Info, "Last one in the list."))
	case next == p.ID:
		return tea.Batch(cmd, s.status.hint(Info, "First one in the list."))
	case next == "": // a row that is still being read
		return tea.Batch(cmd, s.status.hint(Info, "That row is still being read; press "+key.Help().Key+" again."))
	}
	return tea.Batch(cmd, s.swapAbove(list.id, Place{Kind: p.Kind, ID: next, Arg: p.Arg}))
}

// subjectKind returns the kind of a place's object, as in SubjectOf.
func subjectKind(kind string) string {
	if kind == KindCompliance {
		return KindCompliance
	}
	return KindOperation
}

// listBelow returns the nearest screen below the top whose rows include the object of p, and puts
// its cursor on it. -1: there is none.
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

// swapAbove replaces all screens above stack entry id by that of a place; it asks first if one of
// them has typed text.
func (s *router) swapAbove(id screenID, p Place) tea.Cmd {
	swap := func(*Shell) tea.Cmd {
		if s.stack.find(id) == nil {
			return nil
		}
		next := s.stack.mount(p)
		if next == nil {
			return s.unknownPlace(p)
		}
		for s.stack.top().id != id {
			s.unmount(s.stack.top())
			s.stack.stack = s.stack.stack[:len(s.stack.stack)-1]
		}
		s.stack.stack = append(s.stack.stack, next)
		return s.begin(next)
	}
	above := slices.Clone(s.stack.stack[slices.Index(s.stack.stack, s.stack.find(id))+1:])
	slices.Reverse(above) // the question is about the one on top
	return s.closing(above, "", swap)
}
