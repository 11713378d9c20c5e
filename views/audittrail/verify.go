package audittrail

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/audit"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// verify checks the whole chain in a command and opens the page of its report;
// esc there stops it.
func (s *Screen) verify() tea.Cmd {
	log := s.log
	s.openPage("Verification", "", func(w int) []string {
		return []string{s.env.Theme.Dim.Render(draw.Cut("Reading every record and checking its hash … "+
			s.env.Keys.Global.Back.Help().Key+" stops.", w))}
	})
	return s.env.Read(s.checks, func(ctx context.Context) ui.Then {
		r, err := log.Verify(ctx)
		return func() (ui.Action, tea.Cmd) {
			s.openPage("Verification", "", func(w int) []string {
				if err != nil {
					return s.unverified(api.AsError(err), w)
				}
				return s.report(r, w)
			})
			return nil, nil
		}
	})
}

func (s *Screen) unverified(e *api.Error, w int) []string {
	out := widget.NewText(s.env.Theme, w)
	out.Say(theme.Bad, s.env.Theme.Signs.Unknown+" The trail could not be checked: "+untrusted.Text(e.Public).Line(400))
	out.Say(theme.Dim, untrusted.Text(remedy.Screen(e)).Line(400))
	out.Gap()
	out.Say(theme.Dim, s.keys.Verify.Help().Key+" tries again, "+s.env.Keys.Global.Back.Help().Key+" goes back.")
	return out.Lines
}

// report draws what the verification found: the verdict, the first bad record,
// a cut end, intents without an outcome, clock steps.
func (s *Screen) report(r audit.Report, w int) []string {
	th := s.env.Theme
	sign, tone := th.Signs.Good+" intact: ", theme.Good
	switch {
	case !r.Intact():
		sign, tone = th.Signs.Bad+" ", theme.Bad
	case r.Covered < r.Last:
		sign, tone = th.Signs.Warn+" intact as far as can be told: ", theme.Warn
	}
	out := widget.NewText(th, w)
	out.Say(tone, sign+safe(r.Summary()))
	zone := s.env.Zone()
	points := "none: a cut end would not be noticed"
	if r.Checkpoints > 0 {
		points = draw.Count(r.Checkpoints) + ", good up to record " + draw.Count(int(r.Covered))
	}
	out.Gap()
	out.Pairs([]widget.Pair{{Value: "What was checked"}, {Label: "records", Value: draw.Count(int(r.Records))},
		{Label: "from", Value: draw.Count(int(r.First)) + ", " + draw.Time(r.From, zone)},
		{Label: "until", Value: draw.Count(int(r.Last)) + ", " + draw.Time(r.Until, zone)},
		{Label: "checkpoints", Value: points}, {Label: "log", Value: safe(r.Chain), Tone: theme.Dim},
		{Label: "last hash", Value: safe(r.Head), Tone: theme.Dim, Long: true}})
	section := func(title, none string, tone theme.Tone, lines []string) {
		out.Title(title)
		if len(lines) == 0 {
			out.Cut(theme.Good, th.Signs.Good+" "+none)
		}
		for _, l := range lines {
			out.Under(tone, safe(l))
		}
	}
	section("Problems", "none", theme.Bad, problems(th, r))
	section("Acts without an outcome", "none", theme.Warn, s.doubtLines(r))
	section("Clock steps", "the clock never went back", theme.Warn, steps(r))
	if len(r.Warnings) > 0 {
		section("Warnings", "", theme.Warn, r.Warnings)
	}
	return out.Lines
}

func problems(th *theme.Theme, r audit.Report) []string {
	var out []string
	for i, p := range r.Problems {
		head := string(p.Kind)
		if i == 0 && p.Seq > 0 {
			head = "first bad record " + draw.Count(int(p.Seq)) + ", " + head
		}
		if p.Kind == audit.Cut {
			head += " (the end is missing)"
		}
		out = append(out, th.Signs.Bad+" "+head+": "+p.Text)
	}
	if r.More > 0 {
		out = append(out, "and "+draw.Count(r.More)+" more; what follows a bad record proves little")
	}
	return out
}

func (s *Screen) doubtLines(r audit.Report) []string {
	var out []string
	for _, d := range r.Unsettled {
		out = append(out, s.env.Theme.Signs.Unknown+" "+draw.Time(d.At, s.env.Zone())+"  "+string(read(d.Event))+" by "+
			string(read(d.Actor))+" on "+string(read(d.Object))+" "+string(read(d.ID))+
			" (record "+draw.Count(int(d.Seq))+")")
	}
	if len(out) > 0 {
		out = append(out, "Acts that are under way now count too. Those that stay are listed on top of the trail, with "+
			"what to do.")
	}
	return out
}

func steps(r audit.Report) []string {
	var out []string
	for _, c := range r.ClockSteps {
		out = append(out, "before record "+draw.Count(int(c.Seq))+" the clock went back by "+draw.Duration(c.Back))
	}
	return out
}

func safe(s string) string { return untrusted.Text(s).Line(600) }
