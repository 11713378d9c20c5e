package audittrail

import (
	"errors"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/auditfilter"
	"opdeck/internal/domain/index/filter"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// newBar begins to type a filter. It is applied by enter, not by each key: every
// question to the trail leaves a record.
func (s *Screen) newBar(start string) *widget.FilterBar {
	b := widget.NewFilterBar(start, "person:ana event:document.* outcome:denied at<2h", 500)
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
		f, wrong := parse(b.Value())
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
	_, wrong := parse(b.Value())
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

// Guide implements ui.Guide: the language of the filter.
func (s *Screen) Guide() (string, []string) { return "Filter ( / )", auditfilter.Table().Guide() }

// parse reads a filter; wrong is the mistake in it.
func parse(text string) (f auditfilter.Expr, wrong *filter.Error) {
	f, err := auditfilter.Parse(text)
	errors.As(err, &wrong)
	return f, wrong
}

// offers are the ways to go on, with the values that are on screen.
func (s *Screen) offers(v string, at int) []widget.Offer {
	var out []widget.Offer
	for _, o := range auditfilter.Table().Complete(v, at, s.seenValues) {
		out = append(out, widget.Offer{Text: o.Text, From: o.From, To: o.To})
	}
	return out
}

// seenValues are the values of a field in the newest rows, the commonest first: no
// question is asked for them.
func (s *Screen) seenValues(name, _ string) []string {
	var of func(audit.Entry) string
	switch name {
	case "person":
		of = func(e audit.Entry) string { return e.Actor.Name }
	case "event":
		of = func(e audit.Entry) string { return e.Event }
	case "object":
		of = func(e audit.Entry) string { return e.Object }
	case "id":
		of = func(e audit.Entry) string { return e.ID }
	case "via":
		of = func(e audit.Entry) string { return e.Via }
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

// read is a text of a record as it was before it was quoted.
func read(s string) untrusted.Text { return audit.Reading(s) }
