package events

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/act"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/present"
	"opdeck/ui"
)

func (s *pages) askReplay(it item) ui.Action {
	return ui.Asking(act.EventReplay, act.Object{ID: it.Key}, ui.Confirm{ID: it.Key, Ask: "Process this event again?",
		Risk:  "Every listener here receives it once more. No second row is created.",
		Facts: s.env.Pairs(present.AskedReplay(s.env.Present(), it), nil),
		Yes: func(ui.Seen) tea.Cmd {
			s.list.Doing = "replaying"
			feed, key := s.feed, it.Key
			return s.env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
				a, err := feed.Replay(ctx, key)
				notice := replayed(a, err)
				return func() (ui.Action, tea.Cmd) { return s.onReplayed(key, notice, err) }, notice
			})
		}})
}

// replayed says the outcome of a replay.
func replayed(a receiver.Attempt, err error) ui.Notify {
	switch {
	case err != nil:
		return ui.EndedElsewhere("Not replayed", "", err)
	case !a.OK():
		return ui.Notify{Level: ui.Error, Text: "The receiver did not accept it: " + present.AttemptAnswer(a)}
	}
	return ui.Notify{Level: ui.Success, Text: "The event was processed again."}
}

func (s *pages) onReplayed(key string, notice ui.Notify, err error) (ui.Action, tea.Cmd) {
	s.list.Doing = ""
	var cmd tea.Cmd
	if s.page.is(eventPage) && s.page.item.Key == key {
		cmd = s.loadReplays(s.page)
	}
	if err != nil {
		return ui.Failure("The replay", err), cmd
	}
	return notice, cmd
}
