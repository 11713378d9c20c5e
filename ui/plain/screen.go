package plain

import (
	"regexp"
	"slices"
	"strconv"
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
	c, ok := h.sh.Shell.Top().(ui.Contenter)
	if !ok {
		return ui.Content{}
	}
	out := c.Content()
	if out.Table != nil {
		out.Table.Paged(pageRows)
	}
	return out
}

func (h *reader) prompt() string {
	names := ui.Named(h.sh.Shell.Top())
	switch {
	case h.home:
		return "Main menu. A number, a command, or ? for help:"
	case h.content().Table != nil || len(h.opening()) > 0:
		return names[len(names)-1] + ". A number, a command, or ? for help:"
	}
	return names[len(names)-1] + ". A command, or ? for help:"
}

func (h *reader) sayHome() {
	h.talk.Say("Main menu.")
	for i, p := range h.opt.Places {
		h.talk.Say(strconv.Itoa(i+1) + ". " + p.Name + ".")
	}
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
	page, ok := h.sh.Shell.Top().(ui.Linker)
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

func titles(list []ui.Section) []string {
	var out []string
	for _, s := range list {
		if s.Title != "" {
			out = append(out, s.Title)
		}
	}
	return out
}

// parts is the screen on top in sentences: its first ones, then each section, then the rows of the page.
func (h *reader) parts() [][]string {
	top, c := h.sh.Shell.Top(), h.content()
	out := [][]string{sentences(c.Lines)}
	for _, s := range c.Sections {
		out = append(out, h.section(s))
	}
	if c.Table != nil {
		out = append(out, rows(top.Title(), c.Table))
	}
	return out
}

// whole is all parts of the screen on top; if it has no rows and many sentences, what leads and the names of the other
// sections.
func (h *reader) whole() []string {
	parts, c := h.parts(), h.content()
	all := slices.Concat(parts...)
	var rest []ui.Section
	short := slices.Clone(parts[0])
	for i, s := range c.Sections {
		if s.Lead {
			short = append(short, parts[i+1]...)
		} else {
			rest = append(rest, s)
		}
	}
	names := titles(rest)
	if c.Table != nil || len(names) == 0 || len(all)-len(parts[0]) <= atOnce {
		return all
	}
	return append(short, "all shows everything. Parts: "+List(names)+".")
}

// rows are the rows of the page, each a sentence.
func rows(title string, t *widget.Table) []string {
	n := t.Cursor.Len()
	if n == 0 {
		return sentences([]string{t.Empty().Text, t.Empty().Hint})
	}
	from, to := t.Cursor.Visible()
	head := title + ", " + format.Plural(n, "row", "rows") + "."
	if from > 0 || to < n {
		head = title + " " + format.Count(from+1) + " to " + format.Count(to) + " of " + format.Count(n) + "."
	}
	out := []string{head}
	marked := t.Marked()
	for i := from; i < to; i++ {
		r := t.Cursor.Row(i)
		line := row(t.Cursor.Columns.Titles(), r)
		if slices.Contains(marked, r.ID) {
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

// said is what was said of a screen last: its parts without what changes by itself.
type said struct {
	of    ui.Screen
	parts []string
}

func (s said) differs(from said) bool { return s.of != from.of || !slices.Equal(s.parts, from.parts) }

func (h *reader) seen() said {
	out := said{of: h.sh.Shell.Top()}
	for _, p := range h.parts() {
		out.parts = append(out.parts, moving.ReplaceAllString(strings.Join(p, "\n"), ""))
	}
	return out
}

// sayScreen says the screen on top.
func (h *reader) sayScreen() {
	h.said = said{}
	h.sayChanges()
	if aged := h.sh.Shell.Top().Source().Aged(h.opt.Now(), h.sh.Zone()); aged != "" {
		h.talk.Say(aged + ".")
	}
}

// sayChanges says the parts of the screen that read otherwise than when they were said last;
// false: none does.
func (h *reader) sayChanges() bool {
	before, now := h.said, h.seen()
	if h.said = now; now.of != before.of {
		h.talk.Say(h.whole()...)
		return true
	}
	for i, list := range h.parts() {
		if !slices.Contains(before.parts, now.parts[i]) {
			h.talk.Say(list...)
		}
	}
	return now.differs(before)
}
