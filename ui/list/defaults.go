package list

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui"
)

// Defaults implements the methods of Screen that most screens do not need.
type Defaults struct{}

// Answer handles no message.
func (Defaults) Answer(tea.Msg) (ui.Action, tea.Cmd) { return nil, nil }

// Item returns no item.
func (Defaults) Item() ui.Item { return ui.Item{} }

// ReadOn reads nothing, for a list that is read at once.
func (Defaults) ReadOn() tea.Cmd { return nil }

// Refresh does nothing.
func (Defaults) Refresh() {}

// NextChange returns zero, for never.
func (Defaults) NextChange(time.Time) time.Time { return time.Time{} }
