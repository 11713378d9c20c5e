package ui

import tea "github.com/charmbracelet/bubbletea"

// Model is a tea.Model that requests Actions from its owner.
type Model interface {
	tea.Model
	// Wants takes the Action that the last Update requested, or nil. The next call returns nil.
	Wants() Action
}

// Update passes a message to a model and takes the requested Action.
func Update(m Model, msg tea.Msg) (Action, tea.Cmd) {
	_, cmd := m.Update(msg)
	return m.Wants(), cmd
}

// Wanted stores the requested Action until it is taken. Page and list.List embed it.
type Wanted struct{ action Action }

// Keep stores the Action of an Update, replacing one that was not taken, and returns its command.
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
