package compliance

import (
	"net/url"
	"slices"

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
	out := s.head()
	if s.Doing != "" && !th.Linear {
		out = append(out, th.Info.Render(th.Signs.Info+" "+s.Doing+" …"))
	} else {
		out = append(out, th.Strong.Render(s.j.Next.Head())+s.j.Next.Sentence(keyOf(s.env)))
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
		left, _ := format.Until(end, s.env.Now())
		out = append(out, th.Dim.Render("A token issued when you opened this form expires in "+left+"."))
	}
	c := ui.Content{Lines: out, Problem: problem, Doing: s.Doing}
	for _, part := range []ui.Section{s.linked(), s.verification(), s.scanned(), s.record(), s.application(),
		s.notes.Section(s.Inner(s.W))} {
		if len(part.Facts)+len(part.Lines) > 0 {
			c.Sections = append(c.Sections, part)
		}
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
	name := draw.Cut(present.CustomerName(s.id, c.DisplayName()), max(s.W-draw.Width(rest), 10))
	out := []string{th.Strong.Render(name) + rest}
	out = append(out, th.Dim.Render("cuid "+untrusted.Text(s.id).Line(64)))
	if odd := format.Suspicious(c.DisplayName()); odd != "" {
		out = append(out, th.Warn.Render(th.Signs.Warn+" "+odd))
	}
	return out
}

// noteAt is the column where the notes of the checklist begin.
const noteAt = 33

// verification is the checklist; a note that is too long continues below itself.
func (s *Screen) verification() ui.Section {
	th, out := s.env.Theme, ui.Section{Title: "Verification", Lead: true}
	left, _ := s.Widths()
	w := s.Inner(left)
	for _, st := range present.JourneySteps(*s.j) {
		note := []string{st.Note}
		if room := w - noteAt; room >= 20 && st.Note != "" {
			note = draw.Wrap(st.Note, room)
		}
		word := st.Word
		if !th.Linear {
			word = draw.Fit(word, 11) // "not needed" and a gap
		}
		out.Lines = append(out.Lines, widget.Checklist(th, []widget.Step{{Text: draw.Fit(st.Name, 17), Sign: st.Sign,
			Word: word, Tone: st.Tone, Note: note[0]}}, w)...)
		for _, l := range note[1:] {
			out.Lines = append(out.Lines, draw.Space(noteAt)+th.Dim.Render(l))
		}
	}
	return out
}

func (s *Screen) finalised() bool { return s.j.Steps[len(s.j.Steps)-1].State == journey.Done }

// linked shows the link, its host on a line of its own, never as a hyperlink.
func (s *Screen) linked() ui.Section {
	if !s.showsLink() {
		return ui.Section{}
	}
	th := s.env.Theme
	left := present.LinkLeft(s.env.Present(), s.until)
	if left.Tone == present.Bad {
		left.Text += "; " + s.env.Way(s.keys.Link) + " creates a new one"
	}
	host := "?"
	if u, err := url.Parse(string(s.link.URL)); err == nil {
		host = u.Scheme + "://" + u.Host
	}
	out := ui.Section{Title: "Verification link", Hint: s.env.Way(s.env.Keys.Item.CopyJSON) + " copies it", Lead: true}
	out.Lines = []string{
		th.Dim.Render(present.LinkFor+"; ") + th.Tone(left.Tone).Render(left.Text),
		th.Dim.Render("host  ") + untrusted.Text(host).Line(120), s.link.URL.Line(2000)}
	if s.scans() && !s.fits() {
		out.Lines = append(out.Lines, th.Dim.Render("This window is too small for the QR code of the link."))
	}
	return out
}

// showsLink reports whether the page has a link; it is not needed any more once the application is finalized.
func (s *Screen) showsLink() bool { return s.link != nil && !s.finalised() }

// scans reports whether the link can still be opened with a camera.
func (s *Screen) scans() bool {
	return s.showsLink() && len(s.code) > 0 && (s.until.IsZero() || s.env.Now().Before(s.until)) && !s.env.Theme.Linear
}

// fits reports whether one screenful holds the whole code.
func (s *Screen) fits() bool {
	return draw.Width(s.code[0]) <= s.Inner(s.W) && len(s.code) <= s.Screenful()
}

// scanned is the link as a QR code: beside the text from 120 columns on, else below it.
func (s *Screen) scanned() ui.Section {
	if !s.scans() || !s.fits() {
		return ui.Section{}
	}
	out := ui.Section{Beside: true,
		Whole: s.env.Keys.Nav.PageDown.Binding.Help().Key + " shows the link as a QR code"}
	for _, l := range s.code {
		out.Lines = append(out.Lines, s.env.Theme.Code.Render(l))
	}
	return out
}

// record lists the fields of the customer's record beside those of the head.
func (s *Screen) record() ui.Section {
	// is in the head
	list := slices.DeleteFunc(s.env.Pairs(s.env.Present().Details(s.j.Customer.Details()), nil),
		func(p widget.Pair) bool { return p.Label == "cuid" })
	list = append(s.env.Pairs(present.PersonOf(s.j.Customer), nil), list...)
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
