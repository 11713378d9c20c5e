package audittrail

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/domain/audit"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// newBar begins to type a filter. It is applied by enter, not by each key: every
// question to the trail leaves a record.
func (s *Screen) newBar(start string) *widget.FilterBar {
	b := widget.NewFilterBar(start, "person:ana event:document.* id:7f3a outcome:denied since:2h", 500)
	b.Offer(s.words().Offers(start, b.At()))
	return b
}

func (s *Screen) typing(msg keymap.Press) (ui.Action, tea.Cmd) {
	k, b := s.env.Keys.Form, s.bar
	switch {
	case k.Cancel.Match(msg):
		s.bar = nil
		return ui.Handled{}, nil
	case k.Submit.Match(msg):
		f, wrong := parse(b.Value(), s.env.Now())
		if s.judge(wrong); wrong != nil {
			return nil, nil
		}
		s.filter, s.text, s.bar = f, strings.TrimSpace(b.Value()), nil
		return nil, s.load()
	case k.Next.Match(msg):
		b.Complete()
	default:
		b.Type(msg)
	}
	_, wrong := parse(b.Value(), s.env.Now())
	s.judge(wrong)
	b.Offer(s.words().Offers(b.Value(), b.At()))
	return nil, nil
}

// judge tells the bar what is wrong, and what the list shows meanwhile.
func (s *Screen) judge(wrong *problem) {
	if wrong == nil {
		s.bar.Right()
		return
	}
	still := "showing everything"
	if s.text != "" {
		still = "showing the last right filter: " + s.text
	}
	s.bar.Wrong(wrong.column+1, wrong.what, still)
}

// words are the language for completion, with the values that are on screen: no
// question is asked for them.
func (s *Screen) words() widget.Words { return widget.Words{Names: fields, Values: s.seenValues} }

func (s *Screen) seenValues(name string) []string {
	var of func(audit.Entry) string
	switch name {
	case "phase:":
		return []string{string(audit.PhaseIntent), string(audit.PhaseOutcome), string(audit.PhaseNote)}
	case "outcome:":
		return []string{string(audit.ResultOK), string(audit.ResultDenied), string(audit.ResultFailed), string(audit.ResultUnknown), string(audit.ResultNotSeen)}
	case "since:":
		return []string{"30m", "2h", "24h", "7d", "30d"}
	case "person:":
		of = func(e audit.Entry) string { return e.Actor.Name }
	case "event:":
		of = func(e audit.Entry) string { return e.Event }
	case "object:":
		of = func(e audit.Entry) string { return e.Object }
	case "id:":
		of = func(e audit.Entry) string { return e.ID }
	default:
		return nil
	}
	var all []string
	for i := range min(s.rows.Len(), seenRows) {
		if v := read(of(s.rows.at(i))); !v.Flags().Suspicious() { // what is offered must be what is typed
			all = append(all, v.Line(100))
		}
	}
	return widget.MostSeen(all)
}

// seenRows is how many of the newest rows values are taken from.
const seenRows = 1000
