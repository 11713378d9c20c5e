package plain

import (
	"regexp"
	"slices"
	"strings"

	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/widget"
)

const (
	pageRows = 10 // rows that are printed at a time
	atOnce   = 16 // sentences of sections that are printed without a command
)

// reader prints a screen: all of it, or its changes.
type reader struct {
	talk *Talk
	opt  HostOptions
	sh   ui.Driver
	home bool // in the main menu, not on a screen
	said said // of a screen, last
}

// content is what the screen on top shows, its rows in pages.
func (h *reader) content() ui.Content {
	c, ok := h.sh.Top().(ui.Contenter)
	if !ok {
		return ui.Content{}
	}
	out := c.Content()
	if out.Table != nil {
		out.Table.Paged(pageRows)
	}
	return out
}

// room is what is between the parts of a line.
var room = regexp.MustCompile(`  +([^ #])`)

// sentence is a line of a screen with commas for the room between its parts.
func sentence(s string) string { return room.ReplaceAllString(strings.TrimSpace(s), ", $1") }

func sentences(list []string) []string {
	var out []string
	for _, l := range list {
		if l = sentence(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// opening lists what opens something on the page on top; a number of one more than its
// place here names it.
func (h *reader) opening() []widget.Link {
	page, ok := h.sh.Top().(ui.Linker)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(page.Links()), func(l widget.Link) bool { return !l.Opens })
}

// section is a part of a screen in sentences, with the numbers of what opens something.
func (h *reader) section(s ui.Section) []string {
	var out []string
	if s.Title != "" {
		out = append(out, s.Title+".")
	}
	opening := h.opening()
	add := func(line string, of widget.Link) {
		if i := slices.Index(opening, of); i >= 0 && line != "" {
			line = format.Count(i+1) + ". " + line
		}
		if line != "" {
			out = append(out, line)
		}
	}
	for _, p := range s.Facts {
		add(p.Sentence(), p.Link)
	}
	for i, l := range s.Lines {
		var of widget.Link
		if i < len(s.Links) {
			of = s.Links[i]
		}
		add(sentence(l), of)
	}
	return out
}

func (h *reader) sections(list []ui.Section) []string {
	var out []string
	for _, s := range list {
		out = append(out, h.section(s)...)
	}
	return out
}

// screen returns the screen on top in lines: its first sentences, a limited number of sentences of its
// sections, and its rows.
func (h *reader) screen() (parts [3][]string) {
	top, c := h.sh.Top(), h.content()
	if top == nil {
		return parts
	}
	parts[0] = sentences(c.Lines)
	parts[1] = h.sections(c.Sections)
	if c.Table == nil && len(parts[1]) > atOnce && len(titles(c.Sections)) > 0 {
		leads := func(s ui.Section) bool { return s.Lead }
		rest := slices.DeleteFunc(slices.Clone(c.Sections), leads)
		parts[1] = h.sections(slices.DeleteFunc(slices.Clone(c.Sections), func(s ui.Section) bool { return !leads(s) }))
		if names := titles(rest); len(names) > 0 {
			parts[1] = append(parts[1], "all shows everything. Parts: "+List(names)+".")
		}
	}
	if c.Table != nil {
		parts[2] = rows(top.Title(), c.Table)
	}
	return parts
}

func titles(list []ui.Section) []string {
	var out []string
	for _, s := range list {
		if s.Title != "" {
			out = append(out, s.Title)
		}
	}
	return out
}

// rows are the rows of the page, each a sentence.
func rows(title string, t *widget.Table) []string {
	n := t.Len()
	if n == 0 {
		return sentences([]string{t.Empty().Text, t.Empty().Hint})
	}
	from, to := t.Visible()
	head := title + ", " + format.Plural(n, "row", "rows") + "."
	if from > 0 || to < n {
		head = title + " " + format.Count(from+1) + " to " + format.Count(to) + " of " + format.Count(n) + "."
	}
	out := []string{head}
	marked := map[string]bool{}
	for _, id := range t.Marked() {
		marked[id] = true
	}
	for i := from; i < to; i++ {
		r := t.Row(i)
		line := row(t.Titles(), r)
		if marked[r.ID] {
			line = "marked, " + line
		}
		out = append(out, format.Count(i+1)+". "+line)
	}
	if to < n {
		out = append(out, "next shows more.")
	}
	return out
}

func row(titles []string, r widget.Row) string {
	var parts []string
	for i, cell := range r.Cells {
		if cell = sentence(cell); cell == "" || cell == "–" {
			continue
		}
		if i < len(titles) && titles[i] != "" {
			cell = titles[i] + " " + cell
		}
		parts = append(parts, cell)
	}
	line := strings.Join(parts, ", ") + "."
	if r.Sign != "" {
		line = r.Sign + " " + line
	}
	return line
}

// moving is what changes by itself: numbers, and times with their units.
var moving = regexp.MustCompile(`[0-9][0-9.,:]*[a-z]{0,3}( ago)?|just now|\bnow\b`)

func steady(list []string) string { return moving.ReplaceAllString(strings.Join(list, "\n"), "") }

// said is what was said of a screen last, without what changes by itself.
type said struct {
	of    ui.Screen
	parts [3]string
	whole string // all sections, though not all were said
}

func (h *reader) seen() said {
	now := said{of: h.sh.Top(), whole: steady(h.sections(h.content().Sections))}
	for i, list := range h.screen() {
		now.parts[i] = steady(list)
	}
	return now
}

// sayScreen says the screen on top.
func (h *reader) sayScreen() {
	h.said = said{}
	h.sayChanges()
	if aged := h.sh.Top().Source().Aged(h.opt.Now(), h.sh.Zone()); aged != "" {
		h.talk.Say(aged + ".")
	}
}

// sayChanges says what of the screen reads otherwise than when it was said last;
// false: nothing does.
func (h *reader) sayChanges() bool {
	before, now := h.said, h.seen()
	h.said = now
	for i, list := range h.screen() {
		switch {
		case now.of != before.of || i != 1 && now.parts[i] != before.parts[i]:
			h.talk.Say(list...)
		case i == 1:
			for _, s := range h.content().Sections {
				if list := h.section(s); !strings.Contains(before.whole, steady(list)) {
					h.talk.Say(list...)
				}
			}
		}
	}
	return now != before
}
