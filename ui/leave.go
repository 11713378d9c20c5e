package ui

import (
	"maps"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
)

// writeEndedMsg marks the end of a command that sends a write; its answer came before.
type writeEndedMsg struct{ n uint64 }

// sentWrites holds the writes that were sent and not answered yet, and whether the person is leaving.
type sentWrites struct {
	writes  map[uint64]string
	written uint64
	leaving bool // the console exits as soon as they are answered
	gone    bool
}

// track runs a command that sends a write. The console does not exit before the command and
// all parts of its batch or sequence have ended.
func (s *sentWrites) track(what string, cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	s.written++
	n := s.written
	s.writes[n] = safe(what)
	return tea.Sequence(cmd, func() tea.Msg { return writeEndedMsg{n} })
}

// exit holds how the console exits.
type exit struct {
	route   *router
	context string // the context to open next; "": none
}

// writeEnded records the end of a write.
func (s *exit) writeEnded(m writeEndedMsg) tea.Cmd {
	delete(s.route.sent.writes, m.n)
	if s.route.sent.leaving && len(s.route.sent.writes) == 0 {
		return s.quit()
	}
	return nil
}

// waiting returns the names of writes that were sent and not answered yet.
func (s *sentWrites) waiting() []string { return slices.Sorted(maps.Values(s.writes)) }

// askLeave handles q on the root screen.
func (s *exit) askLeave() tea.Cmd {
	c := Confirm{Title: "Leave", Ask: "Leave the console?", Verb: "Leave", SkipTypedConfirmation: true, then: leave,
		yields: true}
	if len(s.route.sent.writes) > 0 {
		c.Risk = "A request has no answer yet. The console waits for the answer, then closes."
	}
	return s.route.perform(nil, do(func(s *Shell) tea.Cmd { s.dialogs.push(newQuestion(s, 0, c)); return nil }))
}

// askDiscard asks before what ("the form") is lost; next is a sentence about the consequence, or "".
func (s *router) askDiscard(what, next string, then func(*Shell) tea.Cmd) tea.Cmd {
	c := Confirm{
		Title: "Discard typed text", Ask: "Discard " + what + "?", Verb: "Discard", SkipTypedConfirmation: true, then: then,
		Risk: next,
	}
	return s.perform(nil, do(func(s *Shell) tea.Cmd { s.dialogs.push(newQuestion(s, 0, c)); return nil }))
}

// interrupt handles ctrl+c: it exits at once, but asks if typed text would be
// lost. A second ctrl+c in that question exits.
func (s *exit) interrupt() tea.Cmd {
	if s.route.sent.leaving {
		return nil // the status line shows the writes
	}
	if n := len(s.route.dialogs.overlays); n > 0 {
		switch o := s.route.dialogs.overlays[n-1].(type) {
		case *question:
			return s.leave()
		case *input:
			if what := o.model.form().unsaved(); what != "" {
				return s.route.askDiscard(what, "The console closes.", leave)
			}
		}
	}
	for _, st := range s.route.stack.stack {
		if what := unsaved(st); what != "" {
			return s.route.askDiscard(what, "The console closes.", leave)
		}
	}
	return s.leave()
}

// Leave ends the console: it drops writes that were not sent, and QuitMsg follows after the
// answers to the others.
func (s *Shell) Leave() tea.Cmd { return s.exit.leave() }

func (s *exit) leave() tea.Cmd {
	s.route.win.end()
	s.route.dialogs.overlays = nil
	if len(s.route.sent.writes) > 0 {
		s.route.sent.leaving = true
		return nil
	}
	return s.quit()
}

func (s *exit) quit() tea.Cmd {
	s.route.sent.gone = true
	for _, st := range s.route.stack.stack {
		st.cancel()
	}
	return tea.Quit
}

// Outcome returns the names of writes without an answer if the program ended without Leave
// (the terminal was lost). Call it after the loop.
func (s *sentWrites) Outcome() []string { return s.waiting() }

func safe(line string) string { return untrusted.Text(line).Line(400) }

func leave(s *Shell) tea.Cmd { return s.exit.leave() }
