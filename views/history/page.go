package history

import (
	"strings"

	"opdeck/internal/domain/index"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// difference is what differs between two states.
type difference struct {
	title   string
	crumb   string
	a, b    present.Moment // a is empty for the first state seen
	changes []index.Change
}

// differ is what differs between two states.
func differ(title, crumb string, a, b present.Moment) *difference {
	d := &difference{title: title, crumb: crumb, a: a, b: b, changes: b.Changes}
	if d.first() || b.Before == nil || b.Before.ID != a.ID {
		d.changes = present.Differences(a.State.Op, b.State.Op)
	}
	return d
}

// became is what changed at a moment.
func became(m present.Moment) *difference {
	if m.Before == nil {
		return differ("The first known state", "First state", present.Moment{}, m)
	}
	return differ("Changes at this moment", "Changes", *m.Before, m)
}

// first reports whether there is nothing before it.
func (p *difference) first() bool { return p.a.ID == "" }

// show opens a difference over the list.
func (s *Screen) show(d *difference) {
	s.Open(d.b.ID, d.crumb, func(w int) []string { return d.lines(s, w) })
}

// beside draws what changed at the moment under the cursor.
func (s *Screen) beside(w int) []string {
	m, on := s.rows.Find(s.Table.SelectedID())
	switch {
	case !on:
		return nil
	case m.Kind == present.NoteMoment:
		return s.note(m, w)
	case m.Kind == present.WebhookMoment:
		return draw.Wrap(m.Summary(s.env.Present(), valued), max(w, 1))
	}
	return became(m).lines(s, w)
}

// note draws a note.
func (s *Screen) note(m present.Moment, w int) []string {
	th := s.env.Theme
	out := []string{th.Title.Render(draw.Cut(present.NoteOn(m.Note), w)),
		th.Dim.Render(draw.Cut(present.NoteBy(s.env.Present(), m.Note), w)), ""}
	return append(out, draw.Wrap(present.NoteText(m.Note), max(w, 1))...)
}

// lines draws field by field what was and what is; money is exact, and what is
// odd about a text is below it.
func (p *difference) lines(s *Screen, w int) []string {
	th, zone := s.env.Theme, s.env.Zone()
	text := widget.NewText(th, w)
	text.Title(p.title)
	whence := func(label string, m present.Moment) {
		text.Add(th.Dim.Render(draw.Fit(label, 7)) + format.Time(m.At, zone) + th.Dim.Render("  source: "+m.From))
	}
	if p.first() {
		whence("seen", p.b)
	} else {
		whence("before", p.a)
		whence("after", p.b)
	}
	if len(p.changes) == 0 {
		text.Gap()
		text.Cut(theme.Good, th.Signs.Good+" No field differs. "+s.env.Keys.Item.Raw.Help().Key+" shows the raw state.")
		return text.Lines
	}
	o, both := s.env.Present(), present.Moment{State: p.b.State, Before: &p.a, Who: p.b.Who}
	fields, items := p.changes, []string(nil)
	if p.first() {
		text.Section("No earlier state is known")
	} else {
		fields, items = p.split(both)
		text.Section(format.Plural(len(fields)+len(items), "change", "changes"))
	}
	label, most := 0, 40
	if th.Linear {
		most = w
	}
	for _, c := range fields {
		label = max(label, min(draw.Width(both.FieldName(c)), most, text.Room()/2))
	}
	for _, says := range items {
		text.Say(theme.Strong, says)
	}
	for _, c := range present.Important(fields) {
		text.Add(p.change(th, o, c, draw.Fit(both.FieldName(c), label), text.Room())...)
	}
	return text.Lines
}

// split divides the changes into those of fields, and the entries of lists that were added or removed, each once.
func (p *difference) split(both present.Moment) (fields []index.Change, items []string) {
	seen := map[string]bool{}
	for _, c := range p.changes {
		item, says := both.Item(p.changes, c)
		switch {
		case item == "":
			fields = append(fields, c)
		case !seen[item]:
			items = append(items, says)
		}
		seen[item] = true
	}
	return fields, items
}

// change is one field under its label: on one line when both values fit, else one below
// the other. Of the first state it is the value alone.
func (p *difference) change(th *theme.Theme, o present.Options, c index.Change, label string, w int) []string {
	was, is := present.Value(o, c, c.Before, 2000), present.Value(o, c, c.After, 2000)
	name := th.Dim.Render(label)
	var out []string
	switch {
	case p.first():
		for i, l := range draw.Wrap(is, max(w-draw.Width(label)-2, 1)) {
			if i > 0 {
				name = strings.Repeat(" ", draw.Width(label))
			}
			out = append(out, name+"  "+th.Strong.Render(l))
		}
	case draw.Width(was)+draw.Width(is)+draw.Width(label)+5 <= w:
		out = append(out, name+"  "+th.Dim.Render(was)+th.Dim.Render(" → ")+th.Strong.Render(is))
	default:
		out = append(out, name)
		for _, l := range draw.Wrap(was, max(w-9, 1)) {
			out = append(out, th.Dim.Render("  before ")+th.Dim.Render(l))
		}
		for _, l := range draw.Wrap(is, max(w-9, 1)) {
			out = append(out, th.Dim.Render("  after  ")+th.Strong.Render(l))
		}
	}
	for _, v := range []struct{ label, odd string }{{"before", format.Suspicious(present.Held(o, c, c.Before))}, {"after",
		format.Suspicious(present.Held(o, c, c.After))}} {
		if v.odd != "" {
			for _, l := range draw.Wrap(th.Signs.Warn+" unsafe text, "+v.label+": "+v.odd, max(w-2, 1)) {
				out = append(out, "  "+th.Warn.Render(l))
			}
		}
	}
	return out
}
