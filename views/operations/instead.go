package operations

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
)

// instead searches for a filter that matches, because the shown one does not.
func (s loader) instead() tea.Cmd {
	ix, f, zone := s.index, s.Filter.Shown, s.env.Zone()
	return s.env.Read(s.nears, func(ctx context.Context) ui.Then {
		text, ok, err := ix.Nearest(ctx, f, zone)
		return func() (ui.Action, tea.Cmd) {
			if err == nil && ok && s.rows.total == 0 { // without one there is no hint
				s.Filter.Instead = &text
				s.Changed()
			}
			return nil, nil
		}
	})
}

// insteadNotice says what nothing matches, and what would match after one key. In the middle of a word that can be
// completed it says only that: nobody has typed that filter yet.
func (s *Screen) insteadNotice() widget.Notice {
	k := s.env.Keys
	w, _ := s.Size()
	line := func(text string) string { return draw.Line(untrusted.Text(text), max(w-30, 60)) }
	out := widget.Notice{Text: s.heading().nothing()}
	if !s.partial {
		out.Text = "No operation matches " + line(s.Filter.Shown.String()) + "."
	}
	key := k.List.Open.Help().Key
	if s.Filter.Typing() {
		key = k.Form.Next.Help().Key
		if offer := s.Filter.Offer(); offer != "" {
			out.Hint = key + " completes: " + line(offer)
			return out
		}
	}
	out.Hint = key + " shows all operations"
	if *s.Filter.Instead != "" {
		out.Hint = key + " shows the nearest: " + line(*s.Filter.Instead)
	}
	return out
}

// useInstead shows the filter that matches.
func (s *Screen) useInstead() (ui.Action, tea.Cmd) {
	text := *s.Filter.Instead
	e, err := filter.Parse(text)
	if err != nil { // it was parsed when it was found
		return nil, nil
	}
	s.Filter.Show(e.For(s.env.Ctx), text)
	s.restart = true
	said := "All operations are shown; nothing matched the filter."
	if text != "" {
		said = "The filter is now the nearest that matches: " + untrusted.Text(text).Line(200)
	}
	return ui.Notify{Level: ui.Info, Text: said}, s.Filtered(false)
}
