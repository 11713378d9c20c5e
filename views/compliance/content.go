package compliance

import (
	"strings"

	"opdeck/api"
	"opdeck/internal/act/remedy"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// Content implements ui.Contenter.
func (s *Screen) Content() ui.Content {
	c := ui.Content{Doing: s.doing}
	if s.j == nil {
		if s.err != nil {
			c.Lines = []string{s.err.Public, remedy.Plain(s.err)}
		}
		return c
	}
	now := s.env.Now()
	c.Lines = append(s.head(), "Verification.")
	for _, st := range s.steps() {
		c.Lines = append(c.Lines, widget.Checklist(s.env.Theme, []widget.Step{st}, 0)...)
	}
	c.Lines = append(append(c.Lines, "Next: "+s.j.Next.Sentence(s.commandOf)), s.linkLines(now)...)
	if s.err != nil {
		c.Lines = append(c.Lines, "Attention: not read again. "+s.err.Public)
	}
	for _, missing := range []string{s.j.NoRecord, s.j.Problem} {
		if missing != "" {
			c.Lines = append(c.Lines, "Attention: "+draw.Cut(missing, wide))
		}
	}
	for _, part := range [][]string{s.record(), s.application()} {
		if len(part) > 1 { // an empty line and the heading come first
			title, _, _ := strings.Cut(part[1], " ")
			c.Sections = append(c.Sections, ui.Section{Title: title, Lines: part[2:]})
		}
	}
	return c
}

// commandOf names the command of an act in the plain mode: its key's short word.
func (s *Screen) commandOf(kind api.ActKind) string {
	for _, k := range []keymap.Key{s.keys.Share, s.keys.Link, s.keys.Finalize} {
		if k.Name == string(kind) {
			return " with " + k.Help().Desc
		}
	}
	return ""
}
