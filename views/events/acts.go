package events

import (
	"context"
	"errors"
	"net"
	"net/url"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/act"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
)

// askReplay asks where to: through the receiver again, or to a URL.
func (s replaying) askReplay(it item) ui.Action {
	return ui.Choose{Title: "Replay event " + draw.ID(it.Key, 20), Items: []ui.Choice{
		{Text: "Process it again here", Note: "processed again; list and index are updated"},
		{Text: "To a URL", Note: "the stored body, byte for byte"},
	}, Pick: func(i int) (ui.Action, tea.Cmd) {
		if i == 0 {
			return s.confirmReplay(it, ""), nil
		}
		return ui.Ask{Title: "Replay to a URL", Verb: "continue",
			Intro: []string{"The body is sent byte for byte, with a fresh signature where a secret is configured. Redirects " +
				"are not followed."},
			Fields: []widget.Field{{Label: "URL", Hint: "http://127.0.0.1:3000/hooks", Max: 2000, Check: checkURL}},
			Submit: func(v ui.Values) (ui.Action, tea.Cmd) { return s.confirmReplay(it, v.Text(0)), nil }}, nil
	}}
}

// checkURL wants https, or http to this host, without a password in it.
func checkURL(v string) error {
	u, err := url.Parse(v)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return errors.New("enter a URL such as http://127.0.0.1:3000/hooks")
	case u.User != nil:
		return errors.New("leave out user and password")
	case u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	}
	return errors.New("use https, or http to this host only")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s replaying) confirmReplay(it item, target string) ui.Action {
	ask := "Process this event again?"
	risk := "Every listener here receives it once more. No second row is created."
	if target != "" {
		ask = "Send this event to " + line(target, 200) + "?"
		risk = "The receiver of that URL gets the whole body, with account numbers."
	}
	return ui.Asking(act.EventReplay, act.Object{ID: it.Key}, ui.Confirm{ID: it.Key, Ask: ask, Risk: risk,
		Facts: s.env.Pairs(present.AskedReplay(s.env.Present(), it, target), nil),
		Yes: func(ui.Seen) tea.Cmd {
			s.Doing = "replaying"
			feed, key := s.feed, it.Key
			return s.env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
				a, err := feed.Replay(ctx, key, target)
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
		return ui.Notify{Level: ui.Error, Text: line(a.Target, 200) + " did not accept it: " + present.AttemptAnswer(a)}
	case a.Act == "local":
		return ui.Notify{Level: ui.Success, Text: "The event was processed again."}
	}
	return ui.Notify{Level: ui.Success, Text: line(a.Target, 200) + " answered " + present.AttemptAnswer(a) + "."}
}

func (s replaying) onReplayed(key string, notice ui.Notify, err error) (ui.Action, tea.Cmd) {
	s.Doing = ""
	var cmd tea.Cmd
	if s.page.is(eventPage) && s.page.item.Key == key {
		cmd = s.loadReplays(s.page)
	}
	if err != nil {
		return ui.Failure("The replay", err), cmd
	}
	return notice, cmd
}
