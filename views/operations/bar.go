package operations

import (
	"context"
	"errors"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/domain/index/filter"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// Guide implements ui.Guide: the language of the filter.
func (s *Screen) Guide() (string, []string) { return "Filter ( / )", filter.Operations().Guide() }

// openBar begins to type a filter: what is right is applied with each key, what is
// wrong is pointed at while the list shows what was right last.
func (s *Screen) openBar() tea.Cmd {
	s.bar = widget.NewFilterBar(s.text, "status:PENDING amount>=1000 customer:acme updated<2h", 1000)
	return s.offer()
}

// typing takes a key while the filter is typed.
func (s *Screen) typing(msg keymap.Press) (ui.Action, tea.Cmd) {
	k := s.env.Keys.Form
	switch {
	case k.Cancel.Match(msg):
		return ui.Handled{}, s.cancelFilter()
	case k.Submit.Match(msg):
		return s.applyFilter()
	case k.Next.Match(msg):
		if !s.bar.Complete() {
			return nil, nil
		}
		if s.bar.Choosing() {
			return nil, s.tryFilter()
		}
		return nil, tea.Batch(s.tryFilter(), s.offer())
	}
	at := s.bar.At()
	switch changed := s.bar.Type(msg); {
	case changed:
		return nil, tea.Batch(s.tryFilter(), s.offer())
	case at != s.bar.At():
		return nil, s.offer()
	}
	return nil, nil
}

// cancelFilter goes back to the filter that held before.
func (s *Screen) cancelFilter() tea.Cmd {
	s.closeBar()
	before, err := filter.Parse(s.text)
	if err != nil || before.String() == s.query.String() {
		return nil
	}
	s.query = before
	return s.load(s.table.SelectedID())
}

func (s *Screen) closeBar() {
	s.bar = nil
	s.seek.Stop()
}

// tryFilter applies what was typed when it is right; the rows follow each key.
func (s *Screen) tryFilter() tea.Cmd {
	q, err := filter.Parse(s.bar.Value())
	var wrong *filter.Error
	if errors.As(err, &wrong) {
		what := wrong.What
		if wrong.Hint != "" {
			what += " " + wrong.Hint
		}
		s.bar.Wrong(wrong.Column, what, s.still())
		return nil
	}
	s.bar.Right()
	if q.String() == s.query.String() {
		return nil
	}
	s.query, s.typed = q, true
	return s.load("")
}

// still says what the list shows while the filter is wrong.
func (s *Screen) still() string {
	if s.query.Empty() {
		return "showing everything"
	}
	return "showing the last right filter: " + s.query.String()
}

func (s *Screen) applyFilter() (ui.Action, tea.Cmd) {
	cmd := s.tryFilter()
	if s.bar.IsWrong() {
		return nil, nil
	}
	s.text = s.bar.Value()
	s.closeBar()
	s.settle()
	return nil, tea.Batch(cmd, s.lacking())
}

// offersMsg is how a filter may go on, with values that the index has seen.
type offersMsg struct {
	ui.Ticket
	offers []widget.Offer
}

const seen = 12 // values asked for

// offer lists how to go on at the cursor: at once what the language knows, and by
// a question to the index, which the next key cancels, values that were seen.
func (s *Screen) offer() tea.Cmd {
	v, at := s.bar.Value(), s.bar.At()
	asked := false
	s.bar.Offer(complete(v, at, func(string, string) []string { asked = true; return nil }))
	s.seek.Stop()
	if !asked {
		return nil
	}
	t, ctx := s.seek.Next(s.env.Ctx)
	ix := s.index
	return func() tea.Msg {
		return offersMsg{t, complete(v, at, func(field, typed string) []string { return values(ctx, ix, field, typed) })}
	}
}

// values asks the index; no values are no suggestions.
func values(ctx context.Context, ix Index, field, typed string) []string {
	list, err := ix.Values(ctx, field, typed, seen)
	if err != nil {
		return nil
	}
	return list
}

func complete(v string, at int, known filter.Seen) []widget.Offer {
	var out []widget.Offer
	for _, o := range filter.Operations().Complete(v, at, known) {
		out = append(out, widget.Offer{Text: o.Text, From: o.From, To: o.To})
	}
	return out
}

func (s *Screen) offered(msg offersMsg) {
	if s.seek.Current(msg.Ticket) && s.bar != nil {
		s.bar.Offer(msg.offers)
	}
}
