package operation

import (
	"opdeck/api"
	"opdeck/internal/domain/mask"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
	"opdeck/views/history"
	"strings"
)

const wide = 400 // cells; the viewer wraps what is wider than the window

// Content implements ui.Contenter.
func (s *Screen) Content() ui.Content {
	th := s.env.Theme
	switch {
	case s.ID == "":
		return ui.Content{Lines: []string{th.Dim.Render("No operation is open."),
			th.Dim.Render(s.env.Way(s.env.Keys.Global.OpenID) + " opens one by its id, " +
				s.env.Way(s.env.Keys.Global.Operations) + " lists them.")}}
	case s.Op == nil && s.Page.Err != nil:
		return s.Failed(s.Page.Err)
	case s.Op == nil:
		return ui.Content{Lines: []string{th.Dim.Render("Reading operation " + draw.ID(s.ID, 40) + " …")}}
	}
	lines := append(append(s.NotReread(), s.headlines()...), s.attached()...)
	if th.Linear {
		lines = append(s.NotReread(), "Operation "+s.Op.OPID.Line(64)+".")
		for _, l := range append(s.headlines(), s.attached()...) {
			lines = append(lines, l+".")
		}
	}
	c := ui.Content{Lines: lines, Problem: len(s.NotReread())}
	add := func(parts ...ui.Section) {
		for _, part := range parts {
			if part.Title != "" {
				c.Sections = append(c.Sections, part)
			}
		}
	}
	add(s.facts()...)
	add(s.documents(), s.notes.Section(s.Inner(s.beside())), s.above(), s.children())
	add(s.past(c), s.unknown())
	return c
}

// headlines returns the first lines of an operation: its status, type and amount, and the counterparty that is paid.
// They are one line if it fits, and no amount is cut that has room in a line of its own.
func (s *Screen) headlines() []string {
	th := s.env.Theme
	state, pays := present.Headline(s.env.Present(), *s.Op, s.phase(*s.Op))
	lines := []string{s.env.Line(state) + "  " + s.env.Line(pays)}
	if draw.Width(lines[0]) > s.W && !th.Linear {
		lines = []string{s.env.Line(state), s.env.Line(pays)}
	}
	payee, last := present.Payee(s.env.Present(), *s.Op), len(lines)-1
	switch to := "→ "; {
	case payee == "":
		return lines
	case th.Linear:
		return append(lines, "To "+payee)
	case draw.Width(lines[last])+1+draw.Width(to+payee) <= s.W:
		lines[last] += " " + th.Dim.Render(to) + th.Strong.Render(payee)
		return lines
	default:
		return append(lines, th.Dim.Render(to)+th.Strong.Render(draw.Cut(payee, max(s.W-2, 10))))
	}
}

// attached returns the operation's documents and its customer: in one line if they fit.
func (s *Screen) attached() []string {
	dim, documents, name := s.env.Theme.Dim, present.Attached(*s.Op), draw.Line(s.Op.Customer.Name, max(s.W, 10))
	if name != "" && draw.Width(documents)+2+draw.Width(name) > s.W && !s.env.Theme.Linear {
		return []string{dim.Render(name), dim.Render(documents)}
	}
	return []string{dim.Render(strings.TrimSpace(documents + "  " + name))}
}

func (s *Screen) documents() ui.Section {
	th := s.env.Theme
	out := ui.Section{Title: "Documents", Drawn: present.Attached(*s.Op),
		Hint: s.keys.Documents.Help().Key + " opens them"}
	room, longest := max(min(s.left()-32, 60), 12), 0
	for _, d := range s.Op.Documents {
		longest = max(longest, draw.Width(draw.File(d.FileName, room)))
	}
	for _, d := range s.Op.Documents {
		lock := "  "
		word := present.LockWord(d.Lock)
		if d.Lock.Is() {
			lock = th.Locked.Render(th.Signs.Locked + " ")
		} else if word != "" {
			lock = th.Warn.Render(th.Signs.Unknown + " ")
		}
		line := lock + draw.Pad(draw.File(d.FileName, room), longest) + "  " +
			th.Dim.Render(strings.TrimPrefix(d.DocType.Line(30)+", "+format.Size(d.Size), ", "))
		if word != "" {
			line += th.Locked.Render("  " + word)
		}
		if odd := d.FileName.Flags(); odd.Suspicious() {
			line += th.Warn.Render("  ! " + odd.Words())
		}
		out.Lines = append(out.Lines, line)
		out.Links = append(out.Links, link{opens: ui.KindDocuments, id: s.ID, row: string(d.GUID)}.to("document",
			"the document id", string(d.GUID), true))
	}
	return out
}

// left is how wide the column of the documents is.
func (s *Screen) left() int {
	left, _ := s.Widths()
	return left
}

// beside is how wide what is beside the documents is, or all of it in a narrow window.
func (s *Screen) beside() int {
	left, right := s.Widths()
	if right > 0 {
		return right
	}
	return left
}

// past returns the last local states, as many as there is room for below the other sections of their column.
func (s *Screen) past(c ui.Content) ui.Section {
	if _, right := s.Widths(); right == 0 && !s.env.Theme.Linear {
		return ui.Section{}
	}
	out := ui.Section{Title: "History", Hint: s.related.History.Help().Key + " opens it", Beside: true}
	if s.pastErr != nil {
		out.Lines = []string{s.env.Theme.Warn.Render(s.env.Theme.Signs.Warn + " " + history.Unread)}
		return out
	}
	room := s.H - len(c.Lines) - 2
	for _, part := range c.Sections {
		if part.Beside {
			room -= len(part.Facts) + len(part.Lines) + 2
		}
	}
	if s.env.Theme.Linear {
		room = 0
	}
	lines, rows := history.Last(s.env, s.states, max(room, 5), s.Inner(s.beside()))
	for _, row := range rows {
		out.Links = append(out.Links, link{opens: ui.KindHistory, id: s.ID, row: row}.to("state", "the change", "", true))
	}
	if out.Lines = lines; len(lines) == 0 {
		out.Lines = []string{s.env.Theme.Dim.Render("No state of it is stored yet.")}
	}
	return out
}

// relatives are the lines of parents or children: as much of their ids as the widest line has room for.
func (s *Screen) relatives(list []api.Child) []string {
	amount, indent := 0, 0
	for _, c := range list {
		amount = max(amount, draw.Width(format.Money(c.Operation.SourceAmount.Sum))+1)
		indent = max(indent, branch(c.Depth))
	}
	out := make([]string, len(list))
	id := max(s.Inner(s.beside())-indent-relativeFixed-amount, 13)
	for i, c := range list {
		op, st := c.Operation, s.env.Theme.Status(string(c.Operation.Status))
		out[i] = draw.Space(branch(c.Depth)) + s.env.Theme.Tone(st.Tone).Render(st.Sign+" "+
			draw.Fit(op.Status.Line(14), 10)) + "  " + draw.Fit(op.Type.Line(14), 10) +
			draw.PadLeft(format.Money(op.SourceAmount.Sum), amount) + "  " + draw.ID(op.OPID.Line(64), id)
	}
	return out
}

// relativeFixed is the width of a parent's or child's line without indent, amount and id.
const relativeFixed = 26

// above returns the ancestors of the operation, nearest first.
func (s *Screen) above() ui.Section {
	if s.tree == nil || len(s.tree.Ancestors) == 0 {
		return ui.Section{}
	}
	out := ui.Section{Title: "Parent", Beside: true}
	if len(s.tree.Ancestors) > 1 {
		out.Title, out.Hint = "Parents", "the nearest first"
	}
	list := make([]api.Child, len(s.tree.Ancestors))
	for i, op := range s.tree.Ancestors {
		list[i].Operation = op
		out.Links = append(out.Links, parentLink(op))
	}
	out.Lines = s.relatives(list)
	return out
}

func parentLink(op api.Operation) widget.Link {
	return link{opens: ui.KindOperation, id: string(op.OPID)}.to("parent operation", "the parent's operation id",
		string(op.OPID), true)
}

func (s *Screen) children() ui.Section {
	th, out := s.env.Theme, ui.Section{Title: "Children", Beside: true}
	switch {
	case s.treeErr != nil:
		out.Lines = []string{th.Bad.Render(th.Signs.Bad + " " + s.treeErr.Public)}
		return out
	case s.tree == nil && s.trees.Busy():
		out.Lines = []string{th.Dim.Render("Reading the tree …")}
		return out
	case s.tree == nil && s.Op.IsParent:
		out.Hint = s.keys.Tree.Help().Key + " reads them (one billing call)"
		return out
	case s.tree == nil, len(s.tree.Children)+s.tree.Unread+s.tree.Repeated == 0:
		return ui.Section{}
	}
	out.Drawn = format.Plural(len(s.tree.Children), "child operation", "child operations")
	if th.Linear {
		out.Lines, out.Links = []string{out.Drawn}, []widget.Link{{}}
	}
	if n := s.tree.Unread; n > 0 {
		out.Lines = append(out.Lines, th.Warn.Render(th.Signs.Warn+" "+format.Plural(n, "child",
			"children")+" in the service's answer could not be read."))
		out.Links = append(out.Links, widget.Link{})
	}
	if n := s.tree.Repeated; n > 0 {
		out.Lines = append(out.Lines,
			th.Warn.Render(th.Signs.Warn+" The answer lists an operation twice "+format.Plural(n, "time",
				"times")+"; it is shown once."))
		out.Links = append(out.Links, widget.Link{})
	}
	out.Lines = append(out.Lines, s.relatives(s.tree.Children)...)
	for _, c := range s.tree.Children {
		out.Links = append(out.Links, childLink(c))
	}
	return out
}

func childLink(c api.Child) widget.Link {
	return link{opens: ui.KindOperation, id: string(c.OPID)}.to("child", "the child's operation id", string(c.OPID), true)
}

// branch is the indent of a child by its depth, in cells; from the sixth level on it is the
// same.
func branch(depth int) int { return 2 * (min(max(depth, 1), 6) - 1) }

// unknown lists the fields of the service that opdeck does not know.
func (s *Screen) unknown() ui.Section {
	if len(s.other) == 0 {
		return ui.Section{}
	}
	th := s.env.Theme
	out := ui.Section{Title: "Other fields", Hint: "that opdeck does not know; " + s.env.Keys.Item.Raw.Help().Key +
		" shows the raw answer"}
	for _, f := range s.other {
		odd := ""
		if f.Odd {
			odd = th.Warn.Render("  " + th.Signs.Warn + " cannot be read")
			out.Hint = "that opdeck does not know or cannot read; " + s.env.Keys.Item.Raw.Help().Key +
				" shows the raw answer"
		}
		out.Lines = append(out.Lines, th.Dim.Render(f.Label)+"  "+mask.Detail(f, s.env.Masked()).Line(wide)+odd)
	}
	if more := s.others - len(s.other); more > 0 {
		out.Lines = append(out.Lines,
			th.Warn.Render("… "+format.Count(more)+" more; "+s.env.Keys.Item.Raw.Help().Key+" shows them"))
	}
	return out
}

// maxOther is the maximum of listed unknown fields.
const maxOther = 200

// onShow extracts the unknown fields from the record, once per state.
func (s *Screen) onShow(*api.Operation) ui.Action {
	fields := s.Op.Unknown()
	s.other, s.others = api.Details(fields[:min(len(fields), maxOther)]), len(fields)
	return nil
}
