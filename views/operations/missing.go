package operations

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
	"opdeck/ui"
	"opdeck/ui/widget"
)

// missing reads which words of a filter that matches nothing no operation has.
func (s loader) missing() tea.Cmd {
	ix, f := s.index, s.Filter.Shown
	return s.env.Read(s.misses, func(ctx context.Context) ui.Then {
		said, err := ix.Missing(ctx, f)
		return func() (ui.Action, tea.Cmd) {
			if err == nil && s.rows.total == 0 { // without it the list says only that nothing matches
				s.lost = said
				s.Changed()
			}
			return nil, nil
		}
	})
}

// noMatch says what nothing matches, which words of it, and what that is worth while the index does not hold
// everything.
func (s *Screen) noMatch() widget.Notice {
	k, asked := s.env.Keys, "“"+untrusted.Text(s.Filter.Shown.String()).Line(200)+"”"
	out := widget.Notice{Text: "No operation matches " + asked + "."}
	switch {
	case s.partial && s.cfg.Off:
		out.Text = "No operation that was read matches " + asked + "."
	case s.partial:
		out.Text = "No match yet for " + asked + "; more operations are being read."
	}
	if s.lost != "" {
		out.Text += " " + s.lost
	}
	if !s.Filter.Typing() { // its keys are text now
		out.Hint = k.Global.Back.Help().Key + " clears it, " + k.List.Filter.Help().Key + " changes it"
	}
	return out
}
