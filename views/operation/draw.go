package operation

import (
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/mask"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

const wide = 400 // cells; the viewer wraps what is wider than the window

// Content implements ui.Contenter.
func (s *Screen) Content() ui.Content {
	th := s.env.Theme
	switch {
	case s.ID == "":
		return ui.Content{Lines: []string{th.Dim.Render("No operation is open."), th.Dim.Render("o opens one by its id, 1 lists them.")}}
	case s.Op == nil && s.Page.Err != nil:
		return ui.Content{Lines: s.Failed(s.Page.Err)}
	case s.Op == nil:
		return ui.Content{Lines: []string{th.Dim.Render("Reading operation " + draw.ID(s.ID, 40) + " …")}}
	}
	lines := append(s.NotReread(), s.headline(), s.attached())
	if th.Linear {
		lines = append(s.NotReread(), "Operation "+s.Op.OPID.Line(64)+".", s.headline()+".", s.attached()+".")
	}
	c := ui.Content{Lines: lines, Sections: append(ui.Sections(s.pairs(s.env.Now())), s.amounts())}
	for _, part := range []ui.Section{s.documents(), s.children(), s.unknown()} {
		if part.Title != "" {
			c.Sections = append(c.Sections, part)
		}
	}
	return c
}

// headline is the one line that answers "what is it, and how does it stand".
func (s *Screen) headline() string {
	th, op := s.env.Theme, s.Op
	st := th.Status(string(op.Status))
	phase := s.client.Phase(*op)
	line := th.Tone(st.Tone).Render(st.Sign+" "+op.Status.Line(30)) + th.Dim.Render(" ("+phase.Word()+")") + "  " +
		th.Strong.Render(op.Type.Line(30)) + " " + op.PaymentType.Line(30) + "  " + th.Strong.Render(draw.Money(op.SourceAmount.Sum))
	if op.SourceAmount.Sum.CurrencyCode != op.DestinationAmount.Sum.CurrencyCode {
		line += th.Dim.Render(" → ") + th.Strong.Render(draw.Money(op.DestinationAmount.Sum))
	}
	return line
}

// attached says in a line what hangs on it and whose it is.
func (s *Screen) attached() string {
	th, n, locked := s.env.Theme, len(s.Op.Documents), 0
	for _, d := range s.Op.Documents {
		if d.IsLock {
			locked++
		}
	}
	line := "no document"
	if n > 0 {
		line = draw.Plural(n, "document", "documents")
	}
	if locked > 0 {
		line += ", " + draw.Count(locked) + " locked"
	}
	return th.Dim.Render(line + "  " + draw.Line(s.Op.Customer.Name, max(s.W-len(line)-4, 10)))
}

func (s *Screen) pairs(now time.Time) []widget.Pair {
	op := s.Op
	out := append([]widget.Pair{{Value: "Operation"}}, widget.SaidEach("–", "id", string(op.OPID), "reference", string(op.Reference), "comment", string(op.Comment))...)
	out = append(out, s.when("created", op.CreatedAt, now), s.when("updated", op.UpdatedAt, now),
		widget.Pair{Label: "parent", Value: mark(op.IsParent, "yes, it spawned others ("+s.keys.Tree.Help().Key+" shows them)", "no")},
		widget.Pair{Label: "visible", Value: mark(op.IsVisible, "yes", "no, hidden from the customer")},
		widget.Pair{Value: "Customer"})
	out = append(out, widget.SaidEach("–", "name", string(op.Customer.Name), "cuid", string(op.Customer.CUID))...)
	return append(append(out, s.party("Source", op.Source)...), s.party("Destination", op.Destination)...)
}

func mark(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}

// when is a moment, absolute and relative; one that cannot be read is shown as
// it came.
func (s *Screen) when(label string, t api.Time, now time.Time) widget.Pair {
	if t.IsZero() {
		if t.Raw == "" {
			return widget.Pair{Label: label, Value: "–", Tone: theme.Dim}
		}
		return widget.Pair{Label: label, Value: "unreadable: " + t.Raw.Quoted(), Tone: theme.Warn}
	}
	return widget.Pair{Label: label, Value: draw.TimeAgo(t.Time, now, s.env.Zone())}
}

func (s *Screen) party(title string, p api.Party) []widget.Pair {
	out, masked := []widget.Pair{{Value: title}}, s.env.Masked()
	if a := p.Account; a != nil {
		out = append(out, widget.SaidEach("–", "account", string(a.Name), "number", string(mask.NumberIf(a.Number, masked)), "account id", string(a.ID),
			"customer", string(a.Customer.Name), "cuid", string(a.Customer.CUID))...)
	}
	if a := p.CounterpartyAccount; a != nil {
		out = append(out, widget.SaidEach("–", "account", string(a.Name), "number", string(mask.NumberIf(a.Number, masked)), "account id", string(a.ID),
			"counterparty", string(a.Counterparty.Name), "bank", string(a.Counterparty.BankName), "suid", string(a.Counterparty.SUID))...)
	}
	if len(out) == 1 {
		out = append(out, widget.Pair{Label: "–", Value: "not told by the service", Tone: theme.Dim})
	}
	return out
}

// amounts are the four amounts with their decimal points in one column, and the
// rate between source and destination; what is no number is shown as it came.
func (s *Screen) amounts() ui.Section {
	rows := []struct {
		name string
		m    api.Money
	}{{"source", s.Op.SourceAmount.Sum}, {"destination", s.Op.DestinationAmount.Sum}, {"commission", s.Op.CommissionAmount.Sum}, {"balance", s.Op.CurrentBalanceAmount.Sum}}
	col := make([]string, len(rows))
	for i, r := range rows {
		if col[i] = draw.Money(r.m); r.m.Empty() {
			col[i] = "–"
		}
	}
	if !s.env.Theme.Linear {
		col = draw.Align(col)
	}
	out := ui.Section{Title: "Amounts", Apart: true}
	for i, r := range rows {
		out.Facts = append(out.Facts, widget.Pair{Label: r.name, Value: col[i]})
		if _, err := r.m.Decimal(); err != nil {
			out.Facts = append(out.Facts, widget.Pair{Label: "! " + r.name, Value: "cannot be trusted: " + err.Error() + ": " + draw.Cut(r.m.Raw(), wide), Tone: theme.Warn, Long: true})
		}
	}
	src, dst := s.Op.SourceAmount.Sum, s.Op.DestinationAmount.Sum
	if rate, exact, ok := api.Rate(src, dst); ok && src.CurrencyCode != dst.CurrencyCode {
		out.Facts = append(out.Facts, widget.Pair{Label: "rate", Value: "1 " + src.CurrencyCode.Line(12) + mark(exact, " = ", " ≈ ") + rate.Text('f') + " " + dst.CurrencyCode.Line(12)})
	}
	return out
}

func (s *Screen) documents() ui.Section {
	th := s.env.Theme
	out := ui.Section{Title: "Documents", Hint: draw.Count(len(s.Op.Documents)) + ", " + s.keys.Documents.Help().Key + " opens them"}
	room, longest := max(min(s.W-30, 60), 12), 0
	for _, d := range s.Op.Documents {
		longest = max(longest, draw.Width(draw.File(d.FileName, room)))
	}
	for _, d := range s.Op.Documents {
		lock := "  "
		if d.IsLock {
			lock = th.Locked.Render(th.Signs.Locked + " ")
		}
		line := lock + draw.Pad(draw.File(d.FileName, room), longest) + "  " + th.Dim.Render(d.DocType.Line(30)+", "+draw.Size(d.Size))
		if d.IsLock {
			line += th.Locked.Render("  locked")
		}
		if odd := d.FileName.Flags(); odd.Suspicious() {
			line += th.Warn.Render("  ! " + odd.Words())
		}
		out.Lines = append(out.Lines, line)
	}
	return out
}

// childRest is the width of a child's line without its id.
const childRest = 46

func (s *Screen) children() ui.Section {
	th, out := s.env.Theme, ui.Section{Title: "Children"}
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
	case s.tree == nil:
		return ui.Section{}
	}
	out.Lines = []string{th.Dim.Render(draw.Plural(len(s.tree.Children), "child operation", "child operations"))}
	if n := s.tree.Unread; n > 0 {
		out.Lines = append(out.Lines, th.Warn.Render(th.Signs.Warn+" "+draw.Plural(n, "child", "children")+" in the service's answer could not be read."))
	}
	for _, c := range s.tree.Children {
		st := th.Status(string(c.Status))
		out.Lines = append(out.Lines, branch(c.Depth)+th.Tone(st.Tone).Render(st.Sign+" "+draw.Fit(c.Status.Line(14), 10))+"  "+draw.Fit(c.Type.Line(14), 10)+
			draw.PadLeft(draw.Money(c.SourceAmount.Sum), 20)+"  "+draw.ID(c.OPID.Line(64), max(s.W-childRest-len(branch(c.Depth)), 13)))
	}
	return out
}

// branch is the indent of a child by its depth; from the sixth level on it is the
// same.
func branch(depth int) string { return draw.Space(2 * (min(max(depth, 1), 6) - 1)) }

// unknown lists what the service sent and this program has no name for.
func (s *Screen) unknown() ui.Section {
	fields := s.Op.Unknown()
	if len(fields) == 0 {
		return ui.Section{}
	}
	th := s.env.Theme
	out := ui.Section{Title: "Other fields", Hint: "without a name here; " + s.env.Keys.Item.Raw.Help().Key + " shows everything as it came"}
	for _, f := range fields {
		if f.Odd {
			out.Hint = "without a name here, or of a kind that cannot be read; " + s.env.Keys.Item.Raw.Help().Key + " shows everything as it came"
		}
		out.Lines = append(out.Lines, th.Dim.Render(untrusted.Text(f.Path).Line(80))+"  "+untrusted.Text(f.Value).Line(wide)+mark(f.Odd, th.Warn.Render("  "+th.Signs.Warn+" cannot be read"), ""))
	}
	return out
}
