package list

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui"
)

// Defaults implements what most screens leave out of Screen.
type Defaults struct{}

// Answer takes no message.
func (Defaults) Answer(tea.Msg) (ui.Action, tea.Cmd) { return nil, nil }

// Item is none.
func (Defaults) Item() ui.Item { return ui.Item{} }

// ReadOn reads nothing: the list is read at once.
func (Defaults) ReadOn() tea.Cmd { return nil }

// Refresh does nothing.
func (Defaults) Refresh() {}

// NextChange is never.
func (Defaults) NextChange(time.Time) time.Time { return time.Time{} }
