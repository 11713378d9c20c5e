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

// writeEnded records the end of a write.
func (s *Shell) writeEnded(m writeEndedMsg) tea.Cmd {
	delete(s.sent.writes, m.n)
	if s.sent.leaving && len(s.sent.writes) == 0 {
		return s.quit()
	}
	return nil
}

// waiting returns the names of writes that were sent and not answered yet.
func (s *sentWrites) waiting() []string { return slices.Sorted(maps.Values(s.writes)) }

// Back closes the screen on top; on the last one it asks to leave.
func (s *Shell) Back() tea.Cmd {
	if !s.stack.root() {
		return s.route.unwind(len(s.stack.stack) - 2)
	}
	c := Confirm{Title: "Leave", Ask: "Leave the console?", Verb: "Leave", SkipTypedConfirmation: true, then: leave,
		yields: true}
	if len(s.sent.writes) > 0 {
		c.Risk = "A request has no answer yet. The console waits for the answer, then closes."
	}
	s.dialogs.push(newQuestion(s.win, 0, c))
	return nil
}

// closing calls then; if a screen of the list has typed text, it asks first. next is that of askDiscard.
func (s *router) closing(list []*openScreen, next string, then func(*Shell) tea.Cmd) tea.Cmd {
	for _, st := range list {
		if what := unsaved(st); what != "" {
			return s.askDiscard(what, next, then)
		}
	}
	return s.perform(nil, do(then))
}

// askDiscard asks before what ("the form") is lost; next is a sentence about the consequence, or "".
func (s *router) askDiscard(what, next string, then func(*Shell) tea.Cmd) tea.Cmd {
	c := Confirm{
		Title: "Discard typed text", Ask: "Discard " + what + "?", Verb: "Discard", SkipTypedConfirmation: true, then: then,
		Risk: next,
	}
	s.dialogs.push(newQuestion(s.win, 0, c))
	return nil
}

// interrupt handles ctrl+c: it exits at once, but asks if typed text would be
// lost. A second ctrl+c in that question exits.
func (s *Shell) interrupt() tea.Cmd {
	if s.sent.leaving {
		return nil // the status line shows the writes
	}
	switch o := s.dialogs.top().(type) {
	case *question:
		return s.Leave()
	case *input:
		if what := o.model.form().unsaved(); what != "" {
			return s.route.askDiscard(what, "The console closes.", leave)
		}
	}
	return s.route.closing(s.stack.stack, "The console closes.", leave)
}

// Leave ends the console: it drops writes that were not sent, and QuitMsg follows after the
// answers to the others.
func (s *Shell) Leave() tea.Cmd {
	s.win.end()
	s.dialogs.overlays = nil
	if len(s.sent.writes) > 0 {
		s.sent.leaving = true
		return nil
	}
	return s.quit()
}

func (s *Shell) quit() tea.Cmd {
	s.sent.gone = true
	for _, st := range s.stack.stack {
		st.cancel()
	}
	return tea.Quit
}

func safe(line string) string { return untrusted.Text(line).Line(400) }

func leave(s *Shell) tea.Cmd { return s.Leave() }
