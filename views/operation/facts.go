package operation

import (
	"strings"

	"opdeck/api"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// own are the fields that stand under the operation's own heading.
var own = []string{"id", "reference", "comment", "created", "updated", "parent", "visible"}

// amounts are the fields that are money.
var amounts = []string{"amount", "received", "commission", "balance"}

// facts are the sections of facts: every value can be copied, and what has a record of
// its own opens that.
func (s *Screen) facts() []ui.Section {
	op := *s.Op
	out := []ui.Section{{Title: "Operation"}, {Title: "Customer"}, s.party("source", op.Source), s.party("destination", op.Destination), s.amounts()}
	for _, name := range own {
		out[0].Facts = append(out[0].Facts, s.fact(field.Operations.Get(name))...)
	}
	customer := link{opens: ui.KindCompliance, id: string(op.Customer.CUID)}
	for _, name := range []string{"customer", "cuid"} {
		f := field.Operations.Get(name)
		out[1].Facts = append(out[1].Facts, customer.fact(f.Name, f.Name, f.Text(op), f.Kind == field.ID)...)
	}
	return out
}

// fact is a field of the operation with its link.
func (s *Screen) fact(f field.Field[api.Operation]) []widget.Pair {
	op := *s.Op
	switch f.Kind {
	case field.Time:
		t := f.Time(op)
		p := s.when(f.Name, t)
		p.Link = link{}.to(f.Name, "the moment", string(t.Raw), false)
		return []widget.Pair{p}
	case field.Flag:
		p := widget.Pair{Label: f.Name, Value: f.YesNo(op)}
		p.Link = link{}.to(f.Name, f.Name, p.Value, false)
		switch {
		case f.Name == "parent" && op.IsParent:
			p.Value, p.Link = "yes, it spawned others ("+s.keys.Tree.Help().Key+" shows them)", link{opens: tree, id: s.ID}.to(f.Name, f.Name, p.Value, s.tree == nil)
		case f.Name == "visible" && f.IsTold(op) && !op.IsVisible:
			p.Value = "no, hidden from the customer"
		}
		return []widget.Pair{p}
	}
	return link{}.fact(f.Name, f.Name, f.Text(op), false)
}

// when is a moment, absolute and relative; one that cannot be read is shown as
// it came.
func (s *Screen) when(label string, t api.Time) widget.Pair {
	if t.IsZero() {
		if t.Raw == "" {
			return widget.Pair{Label: label, Value: "–", Tone: theme.Dim}
		}
		return widget.Pair{Label: label, Value: "unreadable: " + t.Raw.Quoted(), Tone: theme.Warn}
	}
	return widget.Pair{Label: label, Value: draw.TimeAgo(t.Time, s.env.Now(), s.env.Zone())}
}

// party is one side of the operation: its account, and whose that is.
func (s *Screen) party(name string, p api.Party) ui.Section {
	side, masked := field.Operations.Get(name).Name, s.env.Masked()
	out := ui.Section{Title: strings.ToUpper(side[:1]) + side[1:]}
	if a := p.Account; a != nil {
		account, customer := link{opens: accounts, id: string(a.ID)}, link{opens: ui.KindCompliance, id: string(a.Customer.CUID)}
		out.Facts = append(out.Facts, sideFacts(field.PartyAccounts, *a, side, masked, map[string]link{"": account, "customer": customer})...)
	}
	if a := p.CounterpartyAccount; a != nil {
		out.Facts = append(out.Facts, sideFacts(field.CounterpartyAccounts, *a, side, masked,
			map[string]link{"": {opens: counterparties, id: string(a.Counterparty.SUID)}})...)
	}
	if len(out.Facts) == 0 {
		out.Facts = []widget.Pair{{Label: "–", Value: "not told by the service", Tone: theme.Dim}}
	}
	return out
}

// sideFacts are the fields of an account that is a side of the operation. links has what
// the fields of an object within the account lead to, by its name in the service's
// record, and under "" what all others lead to.
func sideFacts[T any](c *field.Catalogue[T], account T, side string, masked bool, links map[string]link) []widget.Pair {
	var out []widget.Pair
	for _, f := range c.All() {
		object, _, _ := strings.Cut(f.JSON, ".")
		to, ok := links[object]
		if !ok {
			to = links[""]
		}
		value := f.Text(account)
		if f.Sensitive {
			value = mask.NumberIf(value, masked)
		}
		out = append(out, to.fact(side+" "+f.Name, f.Name, value, f.Kind == field.ID && string(value) == to.id)...)
	}
	return out
}

// amounts are the four amounts with their decimal points in one column, and the
// rate between source and destination; what is not a number is shown as it came.
func (s *Screen) amounts() ui.Section {
	col := make([]string, len(amounts))
	for i, name := range amounts {
		m := field.Operations.Get(name).Money(*s.Op)
		col[i] = draw.Money(m)
	}
	if !s.env.Theme.Linear {
		col = draw.Align(col)
	}
	out := ui.Section{Title: "Amounts", Apart: true}
	for i, name := range amounts {
		f := field.Operations.Get(name)
		m := f.Money(*s.Op)
		out.Facts = append(out.Facts, widget.Pair{Label: f.Name, Value: col[i], Link: link{}.to(f.Name, "the amount", plainMoney(m), false)})
		if _, err := m.Decimal(); err != nil && !m.Empty() {
			out.Facts = append(out.Facts, widget.Pair{Label: "! " + f.Name, Value: "cannot be trusted: " + err.Error() + ": " + draw.Cut(m.Raw(), wide), Tone: theme.Warn, Long: true})
		}
	}
	src, dst := s.Op.SourceAmount.Sum, s.Op.DestinationAmount.Sum
	if rate, exact, ok := api.Rate(src, dst); ok && src.CurrencyCode != dst.CurrencyCode {
		value := "1 " + src.CurrencyCode.Line(12) + mark(exact, " = ", " ≈ ") + rate.Text('f') + " " + dst.CurrencyCode.Line(12)
		out.Facts = append(out.Facts, widget.Pair{Label: "rate", Value: value, Link: link{}.to("rate", "the rate", value, false)})
	}
	return out
}

// plainMoney is an amount for other programs: no thousands are grouped.
func plainMoney(m api.Money) string {
	if m.Empty() {
		return ""
	}
	return strings.ReplaceAll(draw.Money(m), ",", "")
}

func mark(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}
