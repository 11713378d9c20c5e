package events

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui"
	"opdeck/ui/text"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// bar is the filter while it is typed. It is applied by enter.
type bar struct {
	edit  widget.Edit
	wrong *problem
}

func newBar(s string) *bar {
	b := &bar{edit: widget.Edit{Max: 500}}
	b.edit.Set(s)
	return b
}

func (s *Screen) typing(msg tea.KeyMsg) (ui.Action, tea.Cmd) {
	k, b := s.env.Keys.Form, s.bar
	switch {
	case k.Cancel.Match(msg):
		s.bar = nil
		return ui.Handled{}, nil
	case k.Submit.Match(msg):
		f, wrong := parse(b.edit.Value(), s.env.Now())
		if b.wrong = wrong; wrong != nil {
			return nil, nil
		}
		s.filter, s.text, s.bar = f, strings.TrimSpace(b.edit.Value()), nil
		return nil, s.load()
	case k.Next.Match(msg):
		b.complete()
		return nil, nil
	}
	if b.edit.Type(msg) {
		_, b.wrong = parse(b.edit.Value(), s.env.Now())
		if b.wrong != nil && strings.HasSuffix(b.edit.Value(), ":") {
			b.wrong = nil // still being written
		}
	}
	return nil, nil
}

// complete finishes the name of a field, or puts the next one in its place.
func (b *bar) complete() {
	v := b.edit.Value()
	from := strings.LastIndexByte(v, ' ') + 1
	typed := v[from:]
	for i, f := range fields {
		if f == typed {
			b.edit.Set(v[:from] + fields[(i+1)%len(fields)])
			return
		}
	}
	for _, f := range fields {
		if strings.HasPrefix(f, typed) {
			b.edit.Set(v[:from] + f)
			return
		}
	}
}

func (b *bar) lines(th *theme.Theme, w int) []string {
	out := []string{th.Accent.Render("/ ") + b.edit.View(th, max(w-2, 1), true, "type:operation status:conflict id:7f3a since:2h")}
	if b.wrong != nil {
		return append(out, th.Bad.Render(text.Cut(th.Signs.Bad+" at "+text.Count(b.wrong.column+1)+": "+b.wrong.what, w)))
	}
	return append(out, th.Key.Render("tab")+" "+th.Dim.Render(text.Cut(strings.Join(fields, "  ")+"  words", max(w-4, 1))))
}
