package operations

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui"
)

// workMsg says how far long work is, or that it ended.
type workMsg struct {
	ui.Ticket
	doing string
	end   *ended
	next  tea.Cmd
}

// ended is the result of long work: its notice, and whether rows may have changed.
type ended struct {
	notice ui.Action
	reload bool
}

// work runs long work, one at a time: do reports its progress with report, and
// ends early when ctx ends.
func (s jobs) work(first string, do func(ctx context.Context, report func(string)) ended) tea.Cmd {
	t, ctx := s.works.Start(s.env.Ctx)
	s.Doing = first
	steps := make(chan workMsg, 1)
	var next tea.Cmd
	next = func() tea.Msg {
		m, ok := <-steps
		if !ok {
			return nil
		}
		m.Ticket, m.next = t, next
		return m
	}
	return func() tea.Msg {
		go func() {
			defer close(steps)
			e := do(ctx, func(doing string) {
				select {
				case steps <- workMsg{doing: doing}:
				default: // the screen is behind: the next step replaces this one
				}
			})
			steps <- workMsg{end: &e}
		}()
		return next()
	}
}

// onWork takes a step or the end of long work. What was stopped still says how it
// ended.
func (s jobs) onWork(msg workMsg) (ui.Action, tea.Cmd) {
	if msg.end == nil {
		if s.works.AcceptPart(msg.Ticket) {
			s.Doing = msg.doing
		}
		return nil, msg.next
	}
	if s.works.Accept(msg.Ticket) {
		s.Doing = ""
	}
	if msg.end.reload {
		return msg.end.notice, s.loader().load(s.Table.SelectedID())
	}
	return msg.end.notice, nil
}

// stopWork ends long work before its time.
func (s jobs) stopWork() {
	s.works.Stop()
	s.Doing = ""
}

// unlessBusy begins long work, unless there is some.
func (s jobs) unlessBusy(begin func() ui.Action) ui.Action {
	if !s.works.Busy() {
		return begin()
	}
	return ui.Notify{Level: ui.Denied, Text: "Wait: " + s.Doing + ". " + s.env.Keys.Global.Back.Help().Key +
		" stops it."}
}
