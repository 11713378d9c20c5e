package list

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

const maxPast = 50 // filters

// past holds the person's earlier filters while the filter line is open.
type past struct {
	list  []string // newest first
	at    int      // from 1 into list; 0: the typed text
	draft string   // the typed text while at is not 0
}

// readPast reads the filters of this kind of list.
func (l *FilterLine[T]) readPast() tea.Cmd {
	l.past.at, l.past.draft = 0, ""
	memory, kind := l.env.Filters(), l.kind
	if memory == nil {
		return nil
	}
	read := func(ctx context.Context) ([]string, error) { return memory.Filters(ctx, kind) }
	return ui.Reading(l.env, nil, read, func(list []string, _ time.Time, err error) {
		if err == nil && l.past.at == 0 { // missing earlier filters are not an error of the filter
			l.past.list = list
		}
	})
}

// recall replaces the typed filter by an earlier one; false if the key is not for
// this.
func (l *FilterLine[T]) recall(msg keymap.Press) (tea.Cmd, bool) {
	k, p := l.env.Keys.Menu, &l.past
	step := 1
	switch {
	case k.Up.Match(msg):
	case k.Down.Match(msg):
		step = -1
	default:
		return nil, false
	}
	to := p.at + step
	if to < 0 || to > len(p.list) {
		return nil, true
	}
	if p.at == 0 {
		p.draft = l.bar.Value()
	}
	text := p.draft
	if p.at = to; to > 0 {
		text = p.list[to-1]
	}
	l.bar = widget.NewFilterBar(text, l.example, maxFilter)
	return tea.Batch(l.try(), l.offer()), true
}

// remember stores a confirmed filter.
func (l *FilterLine[T]) remember(text string) tea.Cmd {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(l.past.list), func(o string) bool { return o == text })
	l.past.list = append([]string{text}, rest[:min(len(rest), maxPast-1)]...)
	memory, kind := l.env.Filters(), l.kind
	if memory == nil {
		return nil
	}
	return l.env.Read(nil, func(ctx context.Context) ui.Then {
		_ = memory.KeepFilter(context.WithoutCancel(ctx), kind, text) // it holds until the list is closed
		return func() (ui.Action, tea.Cmd) { return nil, nil }
	})
}
