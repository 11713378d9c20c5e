package events

import (
	"strconv"

	"opdeck/api/hook"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// codeLines is the page of what was learnt about numeric codes: the word, what
// speaks for it, and what against it.
func (s *Screen) codeLines(w int) []string {
	out := widget.NewText(s.env.Theme, w)
	out.Title("Numeric codes and their meaning")
	out.Gap()
	out.Say(theme.Dim, "Webhooks send type, status and payment type of an operation as numbers, and the service does "+
		"not publish what they mean. opdeck learns a meaning when an authenticated event and a read show the same moment "+
		"of one operation. Nothing is guessed.")
	if len(s.codes.list) == 0 {
		out.Gap()
		out.Say(theme.Plain, "No meaning is known yet. opdeck learns them from events and reads of the same operations.")
	}
	last := hook.Field("")
	for _, m := range s.codes.list {
		if m.Field != last {
			last = m.Field
			out.Add("", s.env.Theme.Strong.Render(draw.Cut(line(string(m.Field), 60), w)))
		}
		out.Add(s.meaning(m, w)...)
	}
	return out.Lines
}

// meaning is one code: its line, and each word that was seen with it when there
// are several.
func (s *Screen) meaning(m hook.Meaning, w int) []string {
	th := s.env.Theme
	sign, tone, word := th.Signs.Good, theme.Good, m.Word.Line(64)
	switch {
	case m.Word == "":
		sign, tone, word = th.Signs.Unknown, theme.Bad, "undecided"
	case m.Contradictions > 0:
		sign, tone = th.Signs.Warn, theme.Warn
	}
	note := "for " + strconv.Itoa(m.Evidence) + ", against " + strconv.Itoa(m.Contradictions)
	if m.Word == "" {
		note = strconv.Itoa(m.Contradictions) + " observations disagree"
	}
	out := []string{"  " + th.Tone(tone).Render(sign+" "+draw.Fit(strconv.FormatInt(m.Code, 10), 4)+" "+draw.Fit(word,
		20)) + "  " + th.Dim.Render(draw.Cut(note, max(w-31, 0)))}
	for _, e := range m.All {
		said := "      " + e.Word.Line(64) + ": " + strconv.Itoa(e.Count) + " seen, " + strconv.Itoa(e.Exact) +
			" exact matches"
		if e.Sample != "" {
			said += ", for example " + e.Sample.Line(64)
		}
		out = append(out, th.Dim.Render(draw.Cut(said, w)))
	}
	return out
}
