package operations

import (
	"errors"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/index/filter"
	"opdeck/ui"
	"opdeck/ui/text"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// bar is the filter while it is typed: what is right is applied at once, what is
// wrong is pointed at.
type bar struct {
	edit    widget.Edit
	wrong   *filter.Error
	offered []filter.Suggestion
	chosen  int
}

func newBar(text string) *bar {
	b := &bar{edit: widget.Edit{Max: 1000}}
	b.edit.Set(text)
	b.offer()
	return b
}

// offer lists how to go on at the end of what was typed.
func (b *bar) offer() {
	v := b.edit.Value()
	b.offered, b.chosen = filter.Operations().Complete(v, len(v), nil), -1
}

// typing takes a key while the filter is typed.
func (s *Screen) typing(msg tea.KeyMsg) (ui.Action, tea.Cmd) {
	k := s.env.Keys.Form
	switch {
	case k.Cancel.Match(msg):
		return ui.Handled{}, s.cancelFilter()
	case k.Submit.Match(msg):
		return s.applyFilter()
	case k.Next.Match(msg):
		s.bar.complete()
		return nil, s.tryFilter()
	}
	if s.bar.edit.Type(msg) {
		s.bar.offer()
		return nil, s.tryFilter()
	}
	return nil, nil
}

// cancelFilter goes back to the filter that held before.
func (s *Screen) cancelFilter() tea.Cmd {
	s.bar = nil
	before, err := filter.Parse(s.text)
	if err != nil || before.String() == s.query.String() {
		return nil
	}
	s.query = before
	return s.load(s.table.SelectedID())
}

// complete puts the next suggestion in the place of what it completes.
func (b *bar) complete() {
	if len(b.offered) == 0 {
		return
	}
	b.chosen = (b.chosen + 1) % len(b.offered)
	o := b.offered[b.chosen]
	v := b.edit.Value()
	from := min(o.From, len(v))
	b.edit.Set(v[:from] + o.Text)
}

// tryFilter applies what was typed when it is right; the rows follow each key.
func (s *Screen) tryFilter() tea.Cmd {
	q, err := filter.Parse(s.bar.edit.Value())
	s.bar.wrong = nil
	if err != nil {
		errors.As(err, &s.bar.wrong)
		return nil
	}
	if q.String() == s.query.String() {
		return nil
	}
	s.query, s.typed = q, true
	return s.load("")
}

func (s *Screen) applyFilter() (ui.Action, tea.Cmd) {
	cmd := s.tryFilter()
	if s.bar.wrong != nil {
		return nil, nil
	}
	s.text = s.bar.edit.Value()
	s.bar = nil
	s.settle()
	return nil, cmd
}

// lines draws the field, what is wrong, and what could come next.
func (b *bar) lines(th *theme.Theme, w int) []string {
	out := []string{th.Accent.Render("/ ") + b.edit.View(th, max(w-2, 1), true, "status:PENDING amount>=1000 customer:acme updated<2h")}
	if b.wrong != nil {
		out = append(out, text.Space(min(b.wrong.Column+1, w))+th.Bad.Render("^"),
			th.Bad.Render(th.Signs.Bad+" "+text.Cut(b.wrong.What+" "+b.wrong.Hint, max(w-2, 1))))
		return out
	}
	var parts []string
	used := 0
	for i, o := range b.offered {
		if used += text.Width(o.Text) + 2; used > w-12 {
			break
		}
		style := th.Dim
		if i == b.chosen {
			style = th.Accent
		}
		parts = append(parts, style.Render(o.Text))
	}
	if len(parts) > 0 {
		out = append(out, th.Key.Render("tab")+" "+strings.Join(parts, "  "))
	}
	return out
}
