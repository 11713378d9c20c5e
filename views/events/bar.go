package events

import (
	"slices"
	"strings"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/text"
	"opdeck/internal/receiver"
	"opdeck/ui"
	"opdeck/ui/widget"
)

// newBar begins to type a filter. It is applied by enter.
func (s *Screen) newBar(start string) *widget.FilterBar {
	b := widget.NewFilterBar(start, "type:operation status:conflict id:7f3a since:2h", 500)
	b.Offer(s.words().Offers(start, b.At()))
	return b
}

func (s *Screen) typing(msg tea.KeyMsg) (ui.Action, tea.Cmd) {
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
	v := s.bar.Value()
	s.bar.Wrong(utf8.RuneCountInString(v[:min(wrong.column, len(v))])+1, wrong.what, still)
}

// words are the language for completion, with the values that are on screen.
func (s *Screen) words() widget.Words { return widget.Words{Names: fields, Values: s.seenValues} }

func (s *Screen) seenValues(name string) []string {
	var all []string
	switch name {
	case "type:":
		for _, short := range shortTypes {
			all = append(all, strings.ToLower(short))
		}
		slices.Sort(all)
		return all
	case "status:":
		return []string{string(receiver.Verified), string(receiver.Unverified), string(receiver.Quarantined), string(receiver.Conflict)}
	case "since:":
		return []string{"30m", "2h", "24h", "168h"}
	}
	for _, it := range slices.Backward(s.rows.list) { // the newest first
		switch {
		case len(all) == seenRows:
			return widget.MostSeen(all)
		case name == "id:" && !it.ObjectID.Flags().Suspicious(): // what is offered must be what is typed
			all = append(all, it.ObjectID.Line(128))
		case name == "hook:" && !text.Untrusted(it.HookID).Flags().Suspicious():
			all = append(all, line(it.HookID, 128))
		}
	}
	return widget.MostSeen(all)
}

// seenRows is how many of the newest rows values are taken from.
const seenRows = 1000
