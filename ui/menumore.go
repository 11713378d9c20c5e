package ui

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// moreMsg is the answer to Choose.More.
type moreMsg struct {
	of   *menu
	n    uint64
	then func() Choose
}

// show sets the items of the menu and filters them by the typed text.
func (m *menu) show(c Choose) {
	if c.More != nil {
		c.Items = append(slices.Clone(c.Items), Choice{Text: c.Further})
	}
	m.Choose = c
	m.filter()
	m.at = max(slices.Index(m.hits, c.At), 0)
}

// fits is the number of items that match the typed text.
func (m *menu) fits() int {
	if m.More != nil {
		return m.shown() - 1
	}
	return m.shown()
}

// onMore reports whether the cursor is on the item that reads further items.
func (m *menu) onMore() bool { return m.More != nil && m.at == m.shown()-1 }

// takes reports whether enter takes the typed text, which matches no item.
func (m *menu) takes() bool {
	if m.Typed == nil || m.fits() > 0 {
		return false
	}
	_, ok := m.Typed(strings.TrimSpace(m.edit.Value()))
	return ok
}

// readOn reads further items, one read at a time.
func (m *menu) readOn(s *Shell) tea.Cmd {
	if m.reads.busy {
		return nil
	}
	n, ctx := m.reads.begin(s.win.root)
	m.Items[len(m.Items)-1].Text = "Reading more …"
	more := m.More
	return func() tea.Msg { return moreMsg{m, n, more(ctx)} }
}

// onMoreItems shows the items that were read, unless the menu was closed in the meantime.
func (s *Shell) onMoreItems(msg moreMsg) tea.Cmd {
	if m := msg.of; slices.Contains(s.dialogs.overlays, overlay(m)) && m.reads.n == msg.n {
		m.reads.busy = false
		c := msg.then()
		c.form = m.form
		m.show(c)
	}
	return nil
}
