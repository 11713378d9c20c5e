package ui

import (
	"maps"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
)

// writeEndedMsg is the end of a command that sends something; its answer came before.
type writeEndedMsg struct{ n uint64 }

// sentWrites is what was sent and is not answered yet, and whether the person leaves.
type sentWrites struct {
	writes  map[uint64]string
	written uint64
	leaving bool // as soon as they are answered
	gone    bool
}

// track runs a command that sends something; the console does not leave before
// it has ended, a batch or sequence in all its parts.
func (s *sentWrites) track(what string, cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	s.written++
	n := s.written
	s.writes[n] = safe(what)
	return tea.Sequence(cmd, func() tea.Msg { return writeEndedMsg{n} })
}

// exit is how the console is left.
type exit struct {
	*router
	context string // to be opened after this one; empty: none
}

// writeEnded notes the end of a write.
func (s *exit) writeEnded(m writeEndedMsg) tea.Cmd {
	delete(s.writes, m.n)
	if s.leaving && len(s.writes) == 0 {
		return s.quit()
	}
	return nil
}

// Waiting names the writes that were sent and are not answered yet.
func (s *sentWrites) Waiting() []string { return slices.Sorted(maps.Values(s.writes)) }

// askLeave is q at the root.
func (s *exit) askLeave() tea.Cmd {
	c := Confirm{Title: "Leave", Ask: "Leave the console?", Verb: "Leave", SkipTypedConfirmation: true, then: leave,
		yields: true}
	if len(s.writes) > 0 {
		c.Risk = "A request has no answer yet; the console waits for it before it closes."
	}
	return s.perform(nil, do(func(s *Shell) tea.Cmd { s.push(newQuestion(s, 0, c)); return nil }))
}

// askDiscard asks before what, such as "the form", is lost; next is a sentence about what follows, or "".
func (s *router) askDiscard(what, next string, then func(*Shell) tea.Cmd) tea.Cmd {
	c := Confirm{
		Title: "Discard typed text", Ask: "Discard " + what + "?", Verb: "Discard", SkipTypedConfirmation: true, then: then,
		Risk: next,
	}
	return s.perform(nil, do(func(s *Shell) tea.Cmd { s.push(newQuestion(s, 0, c)); return nil }))
}

// interrupt is ctrl+c: it leaves at once, but asks when typed text would be
// lost. Pressed again in that question it leaves.
func (s *exit) interrupt() tea.Cmd {
	if s.leaving {
		return nil // the status line says what is awaited
	}
	if n := len(s.overlays); n > 0 {
		switch o := s.overlays[n-1].(type) {
		case *question:
			return s.Leave()
		case *input:
			if what := o.model.form().unsaved(); what != "" {
				return s.askDiscard(what, "The console closes.", leave)
			}
		}
	}
	for _, st := range s.stack {
		if what := unsaved(st); what != "" {
			return s.askDiscard(what, "The console closes.", leave)
		}
	}
	return s.Leave()
}

// Leave ends the console: what was not sent is dropped, and QuitMsg follows when what was
// sent is answered.
func (s *exit) Leave() tea.Cmd {
	s.end()
	s.overlays = nil
	if len(s.writes) > 0 {
		s.leaving = true
		return nil
	}
	return s.quit()
}

func (s *exit) quit() tea.Cmd {
	s.gone = true
	for _, st := range s.stack {
		st.cancel()
	}
	return tea.Quit
}

// Outcome names the writes whose answer was not seen when the program ended by
// other means than leaving (the terminal was lost). Call it after the loop.
func (s *sentWrites) Outcome() []string { return s.Waiting() }

func safe(line string) string { return untrusted.Text(line).Line(400) }

func leave(s *Shell) tea.Cmd { return s.Leave() }
