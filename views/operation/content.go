package operation

import (
	"opdeck/api"
	"opdeck/internal/act/remedy"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
)

// Content implements ui.Contenter.
func (s *Screen) Content() ui.Content {
	switch {
	case s.op == nil && s.err != nil:
		return ui.Content{Lines: []string{s.err.Public, remedy.Plain(s.err)}}
	case s.op == nil:
		return ui.Content{Lines: s.lines()}
	}
	c := ui.Content{Lines: []string{"Operation " + s.op.OPID.Line(64) + ".", s.headline() + ".", s.attached() + "."}}
	if s.err != nil {
		c.Lines = append([]string{"Attention: not read again. " + s.err.Public}, c.Lines...)
	}
	c.Sections = append(ui.Sections(s.pairs(s.env.Now())), s.money())
	for _, part := range []struct {
		title string
		lines []string
	}{{"Documents", s.documents()}, {"Children", s.children()}, {"Other fields", s.unknown()}} {
		if len(part.lines) > 1 { // an empty line comes first
			c.Sections = append(c.Sections, ui.Section{Title: part.title, Lines: part.lines[1:]})
		}
	}
	return c
}

// money is the four amounts, and the rate; what is no number is told as it came.
func (s *Screen) money() ui.Section {
	out, op := ui.Section{Title: "Amounts"}, s.op
	for _, a := range []struct {
		name string
		m    api.Money
	}{{"source", op.SourceAmount.Sum}, {"destination", op.DestinationAmount.Sum}, {"commission", op.CommissionAmount.Sum}, {"balance", op.CurrentBalanceAmount.Sum}} {
		p := widget.Pair{Label: a.name}
		if !a.m.Empty() {
			p.Value = draw.Money(a.m)
		}
		if _, err := a.m.Decimal(); err != nil {
			p.Value += ", cannot be trusted: " + err.Error() + ": " + draw.Cut(a.m.Raw(), wide)
		}
		out.Facts = append(out.Facts, p)
	}
	src, dst := op.SourceAmount.Sum, op.DestinationAmount.Sum
	if rate, exact, ok := api.Rate(src, dst); ok && src.CurrencyCode != dst.CurrencyCode {
		out.Facts = append(out.Facts, widget.Pair{Label: "rate", Value: "1 " + src.CurrencyCode.Line(12) + " is " + mark(exact, "", "about ") + rate.Text('f') + " " + dst.CurrencyCode.Line(12)})
	}
	return out
}
