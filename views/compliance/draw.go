package compliance

import (
	"net/url"
	"slices"
	"time"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/journey"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
)

// Content implements ui.Contenter. The next step is visible in any window.
func (s *Screen) Content() ui.Content {
	th := s.env.Theme
	switch {
	case s.j == nil && s.Err != nil:
		return s.Failed(s.Err)
	case s.j == nil:
		return ui.Content{Lines: []string{th.Dim.Render("Reading the customer and the application …")}}
	}
	now := s.env.Now()
	out := s.head()
	next := th.Strong.Render("Next: ") + s.j.Next.Sentence(s.keyOf)
	if s.Doing != "" && !th.Linear {
		next = th.Info.Render(th.Signs.Info + " " + s.Doing + " …")
	}
	list := append([]string{"", th.Title.Render("Verification")}, s.checklist()...)
	if th.Linear {
		list[1] = "Verification."
	}
	if th.Linear || len(out)+len(list)+3 < s.H {
		out = append(append(out, list...), "", next)
	} else {
		out = append(append(out, next), list...)
	}
	problem := 0
	if stale := s.NotReread(); stale != nil {
		out = append(out, stale...)
		problem = len(out)
	}
	for _, p := range present.JourneyProblems(*s.j) {
		out = append(out, th.Tone(p.Tone).Render(p.Line(s.env.Present())))
	}
	if end := s.form.lapses(); !end.IsZero() && !s.j.Record.Applied && !s.j.Record.BaaS {
		left, _ := format.Until(end, now)
		out = append(out, th.Dim.Render("A token issued when you opened this form expires in "+left+"."))
	}
	out = append(out, s.linkLines()...)
	c := ui.Content{Lines: append(out, s.codeLines(now, out)...), Problem: problem, Doing: s.Doing}
	for _, part := range []ui.Section{s.record(), s.application()} {
		if len(part.Facts) > 0 {
			c.Sections = append(c.Sections, part)
		}
	}
	if written := s.notes.Section(s.W); written.Title != "" {
		c.Sections = append(c.Sections, written)
	}
	return c
}

func (s *Screen) head() []string {
	th, c := s.env.Theme, s.j.Customer
	kind, status := th.Dim.Render("type not known"), th.Dim.Render("status not known")
	if c.Type != "" {
		kind = draw.Line(c.Type, 12)
	}
	if c.Status != "" {
		st := th.Status(string(c.Status))
		status = th.Tone(st.Tone).Render(st.Sign + " " + c.Status.Line(20))
	}
	rest := "  " + kind + "  " + status
	out := []string{th.Strong.Render(draw.Cut(present.CustomerName(s.id, s.j.Customer), max(s.W-draw.Width(rest), 10))) +
		rest}
	out = append(out, th.Dim.Render("cuid "+untrusted.Text(s.id).Line(64)))
	if odd := format.Suspicious(c.FullName()); odd != "" {
		out = append(out, th.Warn.Render(th.Signs.Warn+" "+odd))
	}
	return out
}

// noteAt is the column where the notes of the checklist begin.
const noteAt = 32

// checklist draws the steps; a note that is too long continues below itself.
func (s *Screen) checklist() []string {
	th := s.env.Theme
	var out []string
	for _, st := range present.JourneySteps(*s.j) {
		note := []string{st.Note}
		if room := s.W - noteAt; room >= 20 && st.Note != "" {
			note = draw.Wrap(st.Note, room)
		}
		word := st.Word
		if !th.Linear {
			word = draw.Fit(word, 10) // "not needed"
		}
		out = append(out, widget.Checklist(th, []widget.Step{{Text: draw.Fit(st.Name, 17), Sign: st.Sign, Word: word,
			Tone: st.Tone, Note: note[0]}}, s.W)...)
		for _, l := range note[1:] {
			out = append(out, draw.Space(noteAt)+th.Dim.Render(l))
		}
	}
	return out
}

func (s *Screen) finalised() bool { return s.j.Steps[len(s.j.Steps)-1].State == journey.Done }

// linkLines show the link: host apart from the rest, never as a hyperlink.
func (s *Screen) linkLines() []string {
	if s.link == nil || s.finalised() {
		return nil
	}
	th := s.env.Theme
	left := present.LinkLeft(s.env.Present(), s.until)
	host := "?"
	if u, err := url.Parse(string(s.link.URL)); err == nil {
		host = u.Scheme + "://" + u.Host
	}
	out := []string{"", th.Title.Render("Verification link") + th.Dim.Render("  "+present.LinkFor+"; "+
		s.env.Way(s.env.Keys.Item.CopyJSON)+" copies it")}
	if left.Tone == present.Bad {
		left.Text += "; " + s.env.Way(s.keys.Link) + " creates a new one"
	}
	out = append(out, th.Dim.Render("host  ")+untrusted.Text(host).Line(120)+"  "+th.Tone(left.Tone).Render(left.Text),
		s.link.URL.Line(2000))
	return out
}

// codeLines is the link as a QR code below what is above. Where it does not
// fit there, it begins on a page of its own, so that a camera sees all of it.
func (s *Screen) codeLines(now time.Time, above []string) []string {
	page := max(s.H-1, 1)
	if s.env.Theme.Linear || s.link == nil || s.W < 44 || !now.Before(s.until) || s.finalised() {
		return nil
	}
	rows := 1
	for _, l := range above {
		rows += max(len(draw.Wrap(l, max(s.W, 2))), 1)
	}
	out := []string{""}
	if on := rows % page; on+len(s.code) > page && len(s.code) <= page {
		out[0] = s.env.Theme.Dim.Render(s.env.Keys.Nav.PageDown.Binding.Help().Key + " shows it as a QR code")
		for range page - on {
			out = append(out, "")
		}
	}
	for _, l := range s.code {
		out = append(out, s.env.Theme.Code.Render(l))
	}
	return out
}

// record lists the fields of the customer's record beside those of the head.
func (s *Screen) record() ui.Section {
	// is in the head
	list := slices.DeleteFunc(s.env.Pairs(s.env.Present().Details(s.j.Customer.Details()), nil),
		func(p widget.Pair) bool { return p.Label == "cuid" })
	for _, name := range s.named {
		said := "“" + name.Line(200) + "”"
		if name.Flags().Suspicious() {
			said = name.Quoted()
		}
		list = append(list, widget.Pair{Label: "name in operations", Value: said, Long: true})
	}
	return ui.Section{Title: "Customer", Facts: list[:min(len(list), maxFields)], Apart: true}
}

// application lists the application's own fields.
func (s *Screen) application() ui.Section {
	facts := present.Application(s.env.Present(), s.j.Application)
	return ui.Section{Title: "Application", Hint: s.env.Keys.Item.Raw.Help().Key + " shows it as received",
		Facts: s.env.Pairs(facts, nil), Beside: true}
}

const maxFields = 200
