package compliance

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/journey"
	"opdeck/internal/domain/mask"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
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
	for _, missing := range []string{s.j.NoRecord, s.j.Problem} {
		if missing != "" {
			out = append(out, th.Warn.Render(th.Signs.Warn+" "+untrusted.Text(missing).Line(wide)))
		}
	}
	if end := s.form.lapses(); !end.IsZero() && !s.j.Record.Applied && !s.j.Record.BaaS {
		left, _ := format.Until(end, now)
		out = append(out, th.Dim.Render("A token issued when you opened this form expires in "+left+"."))
	}
	out = append(out, s.linkLines(now)...)
	c := ui.Content{Lines: append(out, s.codeLines(now, out)...), Problem: problem, Doing: s.Doing}
	for _, part := range []ui.Section{s.record(), s.application()} {
		if len(part.Facts) > 0 {
			c.Sections = append(c.Sections, part)
		}
	}
	return c
}

const wide = 2000 // characters of a line that goes on below itself

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
const noteAt = 30

// checklist draws the steps; a note that is too long goes on below itself.
func (s *Screen) checklist() []string {
	th := s.env.Theme
	var out []string
	for _, st := range present.JourneySteps(*s.j) {
		note := []string{st.Note}
		if room := s.W - noteAt; room >= 20 && st.Note != "" {
			note = draw.Wrap(st.Note, room)
		}
		out = append(out, widget.Checklist(th, []widget.Step{{Text: draw.Fit(st.Name, 17), Sign: st.Sign, Word: st.Word,
			Tone: st.Tone, Note: note[0]}}, s.W)...)
		for _, l := range note[1:] {
			out = append(out, draw.Space(noteAt)+th.Dim.Render(l))
		}
	}
	return out
}

func (s *Screen) finalised() bool { return s.j.Steps[len(s.j.Steps)-1].State == journey.Done }

// linkLines show the link: host apart from the rest, never as a hyperlink.
func (s *Screen) linkLines(now time.Time) []string {
	if s.link == nil || s.finalised() {
		return nil
	}
	th := s.env.Theme
	left, _ := format.Until(s.until, now)
	host := "?"
	if u, err := url.Parse(string(s.link.URL)); err == nil {
		host = u.Scheme + "://" + u.Host
	}
	out := []string{"", th.Title.Render("Link") + th.Dim.Render("  for the customer's browser; works once; "+
		s.env.Keys.Item.CopyJSON.Help().Key+" copies it")}
	tone := th.Good
	said := "expires in " + left
	if !now.Before(s.until) {
		tone, said = th.Bad, "has expired; "+s.keys.Link.Help().Key+" creates a new one"
	}
	out = append(out, th.Dim.Render("host  ")+untrusted.Text(host).Line(120)+"  "+tone.Render(said), s.link.URL.Line(2000))
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
		list = append(list, widget.Pair{Label: "on operations", Value: said + ", the customer's name in the operation",
			Long: true})
	}
	return ui.Section{Title: "Customer", Facts: list[:min(len(list), maxFields)], Apart: true}
}

// application lists the application's own fields, whatever they are called.
func (s *Screen) application() ui.Section {
	app := s.j.Application
	if app.Kind() == "" {
		return ui.Section{}
	}
	body := app.Individual
	if app.Kind() == api.Corporate {
		body = app.Corporate
	}
	list := plain(flat("", body))
	for i, p := range list {
		if p.Tone != theme.Dim {
			list[i].Value = string(mask.Detail(api.Detail{Label: p.Label, Value: untrusted.Text(p.Value)}, s.env.Masked()))
		}
	}
	return ui.Section{Title: "Application", Hint: s.env.Keys.Item.Raw.Help().Key + " shows it as received", Facts: list,
		Beside: true}
}

// plain leaves out the word "application." that every path begins with, and
// shows what is empty as a dash.
func plain(list []widget.Pair) []widget.Pair {
	for i := range list {
		list[i].Label = strings.TrimPrefix(list[i].Label, "application.")
		if list[i].Value == "" {
			list[i].Value, list[i].Tone = "–", theme.Dim
		}
	}
	return list
}

const maxFields = 200

// flat turns nested JSON into labels and values, in the order of their paths.
func flat(path string, raw json.RawMessage) []widget.Pair {
	var obj map[string]json.RawMessage
	var arr []json.RawMessage
	var out []widget.Pair
	switch {
	case json.Unmarshal(raw, &obj) == nil && obj != nil:
		names := make([]string, 0, len(obj))
		for n := range obj {
			names = append(names, n)
		}
		slices.Sort(names)
		for _, n := range names {
			out = append(out, flat(join(path, n), obj[n])...)
		}
	case json.Unmarshal(raw, &arr) == nil && arr != nil:
		for i, v := range arr {
			out = append(out, flat(join(path, format.Count(i+1)), v)...)
		}
	default:
		var str string
		if json.Unmarshal(raw, &str) != nil {
			str = string(raw)
		}
		u := untrusted.Text(str)
		p := widget.Pair{Label: untrusted.Text(path).Line(60), Value: u.Line(300), Long: true}
		if u.Flags().Suspicious() {
			p.Value, p.Tone = format.Suspicious(u), theme.Warn
		}
		out = append(out, p)
	}
	return out[:min(len(out), maxFields)]
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
