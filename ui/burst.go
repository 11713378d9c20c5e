package ui

import tea "github.com/charmbracelet/bubbletea"

// isBurst reports whether several characters came in one message without the
// marks of a paste: quick typing over a slow line, a held key on a busy machine.
func isBurst(msg tea.KeyMsg) bool {
	return msg.Type == tea.KeyRunes && len(msg.Runes) > 1 && !msg.Paste && !msg.Alt
}

// burst presses the characters of a burst one after the other. A question or an
// explanation that one of them opened gets none of those behind it, and one that
// was open before takes the burst for pasted text: they were typed, if anybody
// typed them, before it could be read. See docs/decisions/0006.
func (s *Shell) burst(msg tea.KeyMsg) tea.Cmd {
	if s.asking() {
		return s.press(msg)
	}
	var cmds []tea.Cmd
	for rest := msg.Runes; len(rest) > 0 && !s.gone && !s.asking(); rest = rest[1:] {
		if s.editing() { // all that is left is text: a filter need not run for each character
			return tea.Batch(append(cmds, s.press(tea.KeyMsg{Type: tea.KeyRunes, Runes: rest}))...)
		}
		cmds = append(cmds, s.press(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{rest[0]}}))
	}
	return tea.Batch(cmds...)
}

// asking is true while a question or an explanation has the keys.
func (s *Shell) asking() bool {
	if len(s.overlays) == 0 {
		return false
	}
	switch s.overlays[len(s.overlays)-1].(type) {
	case *question, *explain:
		return true
	}
	return false
}

// editing is true while the screen on top takes text.
func (s *Shell) editing() bool {
	top := s.top()
	return len(s.overlays) == 0 && top != nil && top.screen.Editing()
}
