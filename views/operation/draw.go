package operation

import (
	"fmt"
	"time"

	"opdeck/internal/domain/mask"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

const wide = 400 // cells; the viewer wraps what is wider than the window

func (s *Screen) lines() []string {
	th := s.env.Theme
	switch {
	case s.id == "":
		return []string{th.Dim.Render("No operation is open."), th.Dim.Render("o opens one by its id, 1 lists them.")}
	case s.op == nil && s.err != nil:
		return s.Failed(s.err)
	case s.op == nil:
		return []string{th.Dim.Render("Reading operation " + draw.ID(s.id, 40) + " …")}
	}
	var out []string
	if s.err != nil {
		out = append(out, th.Warn.Render(th.Signs.Warn+" Not read again: "+s.err.Public), "")
	}
	now := s.env.Now()
	out = append(out, s.headline(), s.attached(), "")
	out = append(out, widget.Pairs(th, s.pairs(now), s.W)...)
	out = append(out, s.amounts()...)
	out = append(out, s.documents()...)
	out = append(out, s.children()...)
	return append(out, s.unknown()...)
}

// headline is the one line that answers "what is it, and how does it stand".
func (s *Screen) headline() string {
	th, op := s.env.Theme, s.op
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
	th, n, locked := s.env.Theme, len(s.op.Documents), 0
	for _, d := range s.op.Documents {
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
	return th.Dim.Render(line + "  " + draw.Line(s.op.Customer.Name, max(s.W-len(line)-4, 10)))
}

// say makes pairs of a text from outside: the safe text, and below it what is
// odd about it, exactly.
func say(label string, u untrusted.Text) []widget.Pair {
	return said(label, u, u.Line(wide))
}

func said(label string, u untrusted.Text, shown string) []widget.Pair {
	if u == "" {
		return []widget.Pair{{Label: label, Value: "–", Tone: theme.Dim}}
	}
	out := []widget.Pair{{Label: label, Value: shown, Long: true}}
	if odd := draw.SuspiciousText(u); odd != "" {
		out = append(out, widget.Pair{Label: "! odd", Value: odd, Tone: theme.Warn, Long: true})
	}
	return out
}

func (s *Screen) pairs(now time.Time) []widget.Pair {
	op := s.op
	out := []widget.Pair{{Value: "Operation"}}
	out = append(out, say("id", op.OPID)...)
	out = append(out, say("reference", op.Reference)...)
	out = append(out, say("comment", op.Comment)...)
	out = append(out, s.when("created", op.CreatedAt, now), s.when("updated", op.UpdatedAt, now))
	out = append(out, widget.Pair{Label: "parent", Value: mark(op.IsParent, "yes, it spawned others ("+s.keys.Tree.Help().Key+" shows them)", "no")},
		widget.Pair{Label: "visible", Value: mark(op.IsVisible, "yes", "no, hidden from the customer")})
	out = append(out, widget.Pair{Value: "Customer"})
	out = append(out, say("name", op.Customer.Name)...)
	out = append(out, say("cuid", op.Customer.CUID)...)
	out = append(out, s.party("Source", op.Source)...)
	return append(out, s.party("Destination", op.Destination)...)
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
	ago, _ := draw.Ago(t.Time, now)
	return widget.Pair{Label: label, Value: draw.Time(t.Time, s.env.Zone()) + ", " + ago}
}

func (s *Screen) party(title string, p api.Party) []widget.Pair {
	out := []widget.Pair{{Value: title}}
	if a := p.Account; a != nil {
		out = append(out, say("account", a.Name)...)
		out = append(out, said("number", a.Number, draw.Line(mask.NumberIf(a.Number, s.env.Masked()), wide))...)
		out = append(out, say("account id", a.ID)...)
		out = append(out, say("customer", a.Customer.Name)...)
		out = append(out, say("cuid", a.Customer.CUID)...)
	}
	if a := p.CounterpartyAccount; a != nil {
		out = append(out, say("account", a.Name)...)
		out = append(out, said("number", a.Number, draw.Line(mask.NumberIf(a.Number, s.env.Masked()), wide))...)
		out = append(out, say("account id", a.ID)...)
		out = append(out, say("counterparty", a.Counterparty.Name)...)
		out = append(out, say("bank", a.Counterparty.BankName)...)
		out = append(out, say("suid", a.Counterparty.SUID)...)
	}
	if len(out) == 1 {
		out = append(out, widget.Pair{Label: "–", Value: "not told by the service", Tone: theme.Dim})
	}
	return out
}

// amounts are the four amounts with their decimal points in one column, and the
// rate between source and destination.
func (s *Screen) amounts() []string {
	th := s.env.Theme
	rows := []struct {
		name string
		m    api.Money
	}{{"source", s.op.SourceAmount.Sum}, {"destination", s.op.DestinationAmount.Sum}, {"commission", s.op.CommissionAmount.Sum}, {"balance", s.op.CurrentBalanceAmount.Sum}}
	var col []string
	for _, r := range rows {
		v := draw.Money(r.m)
		if r.m.Empty() {
			v = "–"
		}
		col = append(col, v)
	}
	col = draw.Align(col)
	out := []string{"", th.Title.Render("Amounts")}
	for i, r := range rows {
		out = append(out, th.Dim.Render(draw.Fit(r.name, 13))+col[i])
		if _, err := r.m.Decimal(); err != nil {
			out = append(out, th.Warn.Render("  ! "+err.Error()+": "+draw.Cut(r.m.Raw(), wide)))
		}
	}
	src, dst := s.op.SourceAmount.Sum, s.op.DestinationAmount.Sum
	if rate, exact, ok := api.Rate(src, dst); ok && src.CurrencyCode != dst.CurrencyCode {
		sign := mark(exact, "", "≈ ")
		out = append(out, th.Dim.Render(draw.Fit("rate", 13))+fmt.Sprintf("1 %s = %s%s %s", src.CurrencyCode.Line(12), sign, rate.Text('f'), dst.CurrencyCode.Line(12)))
	}
	return out
}

func (s *Screen) documents() []string {
	th := s.env.Theme
	out := []string{"", th.Title.Render(draw.Plural(len(s.op.Documents), "document", "documents")) + th.Dim.Render("  d opens them")}
	room, longest := max(min(s.W-30, 60), 12), 0
	for _, d := range s.op.Documents {
		longest = max(longest, draw.Width(draw.File(d.FileName, room)))
	}
	for _, d := range s.op.Documents {
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
		out = append(out, line)
	}
	return out
}

// childRest is the width of a child's line without its id.
const childRest = 46

func (s *Screen) children() []string {
	th := s.env.Theme
	switch {
	case s.treeErr != nil:
		return []string{"", th.Title.Render("Children"), th.Bad.Render(th.Signs.Bad + " " + s.treeErr.Public)}
	case s.tree == nil && s.trees.Busy():
		return []string{"", th.Title.Render("Children"), th.Dim.Render("Reading the tree …")}
	case s.tree == nil && s.op.IsParent:
		return []string{"", th.Title.Render("Children") + th.Dim.Render("  "+s.keys.Tree.Help().Key+" reads them (one billing call)")}
	case s.tree == nil:
		return nil
	}
	out := []string{"", th.Title.Render(draw.Plural(len(s.tree.Children), "child operation", "child operations"))}
	if n := s.tree.Unread; n > 0 {
		out = append(out, th.Warn.Render(th.Signs.Warn+" "+draw.Plural(n, "child", "children")+" in the service's answer could not be read."))
	}
	for _, c := range s.tree.Children {
		st := th.Status(string(c.Status))
		out = append(out, branch(c.Depth)+th.Tone(st.Tone).Render(st.Sign+" "+draw.Fit(c.Status.Line(14), 10))+"  "+draw.Fit(c.Type.Line(14), 10)+
			draw.PadLeft(draw.Money(c.SourceAmount.Sum), 20)+"  "+draw.ID(c.OPID.Line(64), max(s.W-childRest-len(branch(c.Depth)), 13)))
	}
	return out
}

// branch is the indent of a child by its depth; from the sixth level on it is the
// same.
func branch(depth int) string { return draw.Space(2 * (min(max(depth, 1), 6) - 1)) }

// unnamed is the heading of what cannot be shown among the other fields.
func unnamed(fields []api.Field) string {
	for _, f := range fields {
		if f.Odd {
			return "Fields without a name here, or of a kind that cannot be read"
		}
	}
	return "Fields without a name here"
}

// unknown lists what the service sent and this program has no name for.
func (s *Screen) unknown() []string {
	fields := s.op.Unknown()
	if len(fields) == 0 {
		return nil
	}
	th := s.env.Theme
	out := []string{"", th.Title.Render(unnamed(fields)) + th.Dim.Render("  "+s.env.Keys.Item.Raw.Help().Key+" shows everything as it came")}
	for _, f := range fields {
		out = append(out, th.Dim.Render(untrusted.Text(f.Path).Line(80))+"  "+untrusted.Text(f.Value).Line(wide)+mark(f.Odd, th.Warn.Render("  "+th.Signs.Warn+" cannot be read"), ""))
	}
	return out
}
