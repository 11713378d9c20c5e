package events

import (
	"opdeck/api/hook"
	"opdeck/internal/present"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// codeLines is the page of what was learnt about numeric codes: the word, what
// speaks for it, and what against it.
func (s *pages) codeLines(w int) []string {
	out := widget.NewText(s.env.Theme, w)
	out.Title("Numeric codes and their meaning")
	out.Gap()
	out.Say(theme.Dim, "Webhooks send type, status and payment type of an operation as numbers, and the service does "+
		"not publish what they mean. opdeck learns a meaning when an authenticated event and a read show the same moment "+
		"of one operation. Nothing is guessed.")
	if len(s.codes) == 0 {
		out.Gap()
		out.Say(theme.Plain, "No meanings learned yet. opdeck learns them from events and reads of the same operations.")
	}
	last := hook.Field("")
	for _, m := range s.codes {
		if m.Field != last {
			last = m.Field
			out.Section(line(string(m.Field), 60))
		}
		out.Add(s.meaning(m, out.Room())...)
	}
	return out.Lines
}

// meaning is one code: its line, and each word that was seen with it when there
// are several.
func (s *pages) meaning(m hook.Meaning, w int) []string {
	th, is := s.env.Theme, present.MeaningOf(m)
	out := []string{th.Tone(is.Tone).Render(th.SignOf(is.Sign)+" "+draw.Fit(is.Code, 4)+" "+draw.Fit(is.Word,
		20)) + "  " + th.Dim.Render(draw.Cut(is.Weight, max(w-29, 0)))}
	for _, seen := range is.Seen {
		out = append(out, th.Dim.Render(draw.Cut("  "+seen, w)))
	}
	return out
}
