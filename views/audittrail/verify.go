package audittrail

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/audit"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

const checkCrumb = "Check of the trail"

// verify checks the whole chain in a command and opens the page of its report;
// esc there stops it.
func (s *Screen) verify() tea.Cmd {
	log := s.log
	s.Open("", checkCrumb, func(w int) []string {
		return []string{s.env.Theme.Dim.Render(draw.Cut("Reading every record and checking its hash … "+
			s.env.Keys.Global.Back.Help().Key+" stops.", w))}
	})
	return s.env.Read(s.checks, func(ctx context.Context) ui.Then {
		r, err := log.Verify(ctx)
		return func() (ui.Action, tea.Cmd) {
			s.Open("", checkCrumb, func(w int) []string {
				if err != nil {
					return unverified(s.env, api.AsError(err), w)
				}
				return report(s.env, r, w)
			})
			return nil, nil
		}
	})
}

func unverified(env *ui.Env, e *api.Error, w int) []string {
	out := widget.NewText(env.Theme, w)
	out.Say(theme.Bad, env.Theme.Signs.Unknown+" The trail could not be checked: "+untrusted.Text(e.Public).Line(400))
	out.Say(theme.Dim, untrusted.Text(remedy.Screen(e)).Line(400))
	out.Gap()
	out.Say(theme.Dim, env.Keys.Audit.Verify.Help().Key+" tries again, "+env.Keys.Global.Back.Help().Key+" goes back.")
	return out.Lines
}

// report draws what the check found: the verdict, the first bad record,
// a cut end, intents without an outcome, clock steps.
func report(env *ui.Env, r audit.Report, w int) []string {
	th, o := env.Theme, env.Present()
	verdict, checked, found := present.Verified(o, r)
	out := widget.NewText(th, w)
	out.Say(verdict.Tone, verdict.Line(o))
	out.Gap()
	out.Pairs(env.Headed([]present.Section{checked}))
	for _, f := range found {
		out.Section(f.Title)
		switch {
		case len(f.Lines) > 0:
		case f.Unsure:
			out.Say(theme.Dim, th.Signs.Off+" "+f.None)
		default:
			out.Cut(theme.Good, th.Signs.Good+" "+f.None)
		}
		for _, l := range f.Lines {
			out.Say(l.Tone, l.Line(o))
		}
		if f.Note != "" && len(f.Lines) > 0 {
			out.Say(theme.Warn, f.Note)
		}
	}
	return out.Lines
}
