package events

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/eventfilter"
	"opdeck/internal/domain/index/filter"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// Guide implements ui.Guide: the language of the filter.
func (s *Screen) Guide() (string, []string) {
	return "Filter ( / )", eventfilter.Table().Guide()
}

// newBar begins to type a filter. It is applied by enter.
func (s *Screen) newBar(start string) *widget.FilterBar {
	b := widget.NewFilterBar(start, "type:operation -status:verified id:7f3a received<2h", 500)
	b.Offer(s.offers(start, b.At()))
	return b
}

func (s *Screen) typing(msg keymap.Press) (ui.Action, tea.Cmd) {
	k, b := s.env.Keys.Form, s.bar
	switch {
	case k.Cancel.Match(msg):
		s.bar = nil
		return ui.Handled{}, nil
	case k.Submit.Match(msg):
		f, wrong := parse(s.env.Ctx, b.Value())
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
	_, wrong := parse(s.env.Ctx, b.Value())
	s.judge(wrong)
	b.Offer(s.offers(b.Value(), b.At()))
	return nil, nil
}

// judge tells the bar what is wrong, and what the list shows meanwhile.
func (s *Screen) judge(wrong *filter.Error) {
	if wrong == nil {
		s.bar.Right()
		return
	}
	still := "showing everything"
	if s.text != "" {
		still = "showing the last right filter: " + s.text
	}
	s.bar.Wrong(wrong.Column, strings.TrimSpace(wrong.What+" "+wrong.Hint), still)
}

// offers are the ways to go on, with the values that are on screen.
func (s *Screen) offers(v string, at int) []widget.Offer {
	var out []widget.Offer
	for _, o := range eventfilter.Table().Complete(v, at, s.seenValues) {
		out = append(out, widget.Offer{Text: o.Text, From: o.From, To: o.To})
	}
	return out
}

// seenValues are the values of a field in the newest rows, the commonest first.
func (s *Screen) seenValues(field, _ string) []string {
	var all []string
	for _, it := range slices.Backward(s.rows.list) {
		if len(all) == seenRows {
			break
		}
		v := untrusted.Text("")
		switch field {
		case "id":
			v = it.ObjectID
		case "hook":
			v = untrusted.Text(it.HookID)
		case "customer":
			v = it.CUID
		case "source":
			v = untrusted.Text(it.Source)
		case "reason":
			v = untrusted.Text(it.Reason)
		}
		if v != "" && !v.Flags().Suspicious() { // what is offered must be what is typed
			all = append(all, v.Line(128))
		}
	}
	return widget.MostSeen(all)
}

// seenRows is how many of the newest rows values are taken from.
const seenRows = 1000
