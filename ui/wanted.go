package ui

import tea "github.com/charmbracelet/bubbletea"

// Model is a tea.Model that wants something from whoever runs it.
type Model interface {
	tea.Model
	// Wants is what the last Update wants done (nil: nothing). It is taken: the next call returns nil.
	Wants() Action
}

// Update hands a message to a model and takes what it wants then.
func Update(m Model, msg tea.Msg) (Action, tea.Cmd) {
	_, cmd := m.Update(msg)
	return m.Wants(), cmd
}

// Wanted holds what a model wants until it is taken. Page and list.List embed it.
type Wanted struct{ action Action }

// Keep holds the action of an Update, in the place of one that nobody took, and returns its command.
func (w *Wanted) Keep(a Action, cmd tea.Cmd) tea.Cmd {
	w.action = a
	return cmd
}

// Wants implements Model.
func (w *Wanted) Wants() Action {
	a := w.action
	w.action = nil
	return a
}
