package present

import (
	"regexp"
	"unicode/utf8"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// memberWidth bounds the column of a member without a Go field, in cells.
const memberWidth = 24

// numeric matches a number, or an amount with its currency.
var numeric = regexp.MustCompile(`^([A-Z0-9]{2,10} )?-?[0-9][0-9.eE+-]*$`)

// Member is the column of a member without a Go field, in plain words.
type Member struct {
	Column[api.Tariff]
	Moment bool // it holds times
}

// Members returns the columns of these rules' members without a Go field, each as wide as its content; times come
// last and are hidden first in a narrow window.
func Members(o Options, all []api.Tariff) []Member {
	labels, moments := api.Members(all)
	out := make([]Member, len(labels))
	for i, label := range labels {
		moment := i >= len(labels)-moments
		c := Column[api.Tariff]{Name: label, Align: Right,
			Column: field.Column{Title: untrusted.Text(memberLabel(label)).Line(memberWidth),
				HidePriority: min(i, 3)}}
		c.Min = utf8.RuneCountInString(c.Title)
		c.Cell = func(o Options, t api.Tariff) Cell { return member(o, t, label, moment) }
		for _, t := range all {
			text := c.Cell(o, t).Text
			c.Min = max(c.Min, utf8.RuneCountInString(text))
			if d := t.Member(label); !d.Money.Empty() {
				c.Align = Decimal
			} else if text != "" && !numeric.MatchString(text) {
				c.Align = Left
			}
		}
		if c.Min > memberWidth {
			c.Min, c.Flex = memberWidth, 1
		}
		if moment {
			c.HidePriority = 5
		}
		out[i] = Member{c, moment}
	}
	return out
}

// member is the cell of a rule's member. Commands show times as received.
func member(o Options, t api.Tariff, label string, moment bool) Cell {
	d := t.Member(label)
	value := mask.Detail(d, o.Masked)
	out := Cell{Text: value.Line(200)}
	switch {
	case o.Zone != nil && !d.Money.Empty() && value == d.Value:
		out.Text = format.Money(d.Money)
	case moment && !d.At.IsZero() && o.Zone != nil:
		out.Text = format.Minute(d.At.Time, o.Zone)
	case d.Odd && o.Sign != nil:
		out.Text, out.Tone = out.Text+" "+o.Sign(SignWarn), Warn
	case d.Odd:
		out.Text += " (cannot be read)"
	}
	return out
}
