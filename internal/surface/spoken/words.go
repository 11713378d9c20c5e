package spoken

import (
	"strconv"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/mask"
	"opdeck/ui/draw"
	"opdeck/ui/plain"
)

func plural(n int, one, many string) string { return draw.Plural(n, one, many) }
func count(n int) string                    { return draw.Count(n) }
func numbered(n int, s string) string       { return strconv.Itoa(n) + ". " + s }

// safe is a text from outside as one line, its oddities told after it.
func safe(u untrusted.Text, max int) string {
	if u == "" {
		return "not given"
	}
	s := u.Line(max)
	if f := u.Flags(); f.Suspicious() {
		s += " (odd text: " + f.Words() + ")"
	}
	return s
}

// say lines about a field: its value, and when that is odd, what it is exactly.
func field(label string, u untrusted.Text) []string {
	if u == "" {
		return []string{label + ": not given"}
	}
	return exactly(label+": "+u.Line(whole), u)
}

// whole is more characters than any field of the service holds.
const whole = 100_000

// exactly adds to a line what is odd about u, and u to the letter.
func exactly(line string, u untrusted.Text) []string {
	f := u.Flags()
	if !f.Suspicious() {
		return []string{line}
	}
	return []string{line, "Attention, odd text: " + f.Words() + ". To the letter: " + u.Quoted()}
}

// money says an amount exactly, "1,234.50 EUR".
func money(m draw.Moneyer) string {
	d, err := m.Decimal()
	code := untrusted.Text(m.Currency()).Line(12)
	if err != nil || d == nil {
		return "an amount in " + orUnnamed(code) + " that cannot be trusted"
	}
	n, _ := draw.Digits(string(m.Currency()))
	return draw.Number(d, n) + " " + orUnnamed(code)
}

func orUnnamed(code string) string {
	if code == "" {
		return "a currency that is not named"
	}
	return code
}

// amount is a line about one of an operation's amounts; one that is no number is
// said as it came.
func amount(label string, m api.Money) []string {
	if m.Empty() {
		return []string{label + ": not given"}
	}
	if _, err := m.Decimal(); err != nil {
		return []string{label + ": " + money(m), "Attention, " + err.Error() + ". As it came: " + m.Raw()}
	}
	return []string{label + ": " + money(m)}
}

// when says a moment of the service, absolute and relative; one that cannot be
// read is said as it came.
func (c *console) when(label string, t api.Time) string {
	switch {
	case t.IsZero() && t.Raw == "":
		return label + ": not given"
	case t.IsZero():
		return label + ": unreadable, as it came: " + t.Raw.Quoted()
	}
	return label + ": " + c.moment(t.Time) + ", " + plain.Ago(t.Time, c.app.Now())
}

func (c *console) moment(t time.Time) string { return plain.Moment(t, c.zone) }

func (c *console) clock(t time.Time) string { return t.In(c.zone).Format("15:04:05 MST") }

// masked reports whether account numbers of a record are masked now.
func (c *console) masked(id string) bool {
	return !c.who.Role.May(api.MayReveal) || c.app.Config.UI.Mask && !c.revealed[id]
}

// number says an account number, or its end.
func number(label string, u untrusted.Text, masked bool) []string {
	if u == "" || !masked {
		return field(label, u)
	}
	end := "nothing of it is said"
	if last := strings.TrimLeft(string(mask.Number(u)), mask.Dot); last != "" {
		end = "ending in " + last
	}
	return []string{label + ": masked, " + end}
}

func yesNo(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}
