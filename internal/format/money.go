// Package format words values in the one way that every surface prints them: money, moments, sizes,
// counts. All of it is safe to draw.
package format

import (
	"strings"

	"github.com/cockroachdb/apd/v3"
	"golang.org/x/text/currency"

	"opdeck/api/untrusted"
)

// Moneyer is an amount of money: api.Money.
type Moneyer interface {
	Currency() untrusted.Text
	Empty() bool // no amount was sent
	// Decimal returns the exact value, or why it cannot be trusted (the signs of
	// units and nanos disagree, nanos out of range, no number).
	Decimal() (*apd.Decimal, error)
}

// Digits is how many decimals a currency has by ISO 4217; false when the code
// is not one.
func Digits(code string) (int, bool) {
	if len(code) != 3 {
		return 0, false
	}
	u, err := currency.ParseISO(code)
	if err != nil || u.String() != code {
		return 0, false
	}
	n, _ := currency.Standard.Rounding(u)
	return n, true
}

// Number draws an exact decimal with thousands grouped by commas and at least
// digits decimals; it never rounds: more decimals are shown when the value has
// more. Nothing is drawn in exponent form.
func Number(d *apd.Decimal, digits int) string {
	if d == nil || d.Form != apd.Finite {
		return "?"
	}
	whole, part, _ := strings.Cut(d.Text('f'), ".")
	sign := ""
	if rest, ok := strings.CutPrefix(whole, "-"); ok {
		sign, whole = "-", rest
	}
	for len(part) > digits && strings.HasSuffix(part, "0") {
		part = part[:len(part)-1]
	}
	if len(part) < digits {
		part += strings.Repeat("0", digits-len(part))
	}
	if strings.Trim(whole+part, "0") == "" {
		sign = ""
	}
	if part != "" {
		part = "." + part
	}
	return sign + group(whole) + part
}

func group(whole string) string {
	n := len(whole)
	if n <= 3 {
		return whole
	}
	var b strings.Builder
	b.Grow(n + n/3)
	first := n % 3
	b.WriteString(whole[:first])
	for i := first; i < n; i += 3 {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(whole[i : i+3])
	}
	return b.String()
}

// Amount draws the number of m without its currency, "1,234.50": for columns
// that are aligned by the decimal point. ok is false when there is no value, "–", and
// when it cannot be trusted; the text is "?" then and the screen shows the raw fields.
func Amount(m Moneyer) (s string, ok bool) {
	if m.Empty() {
		return "–", false
	}
	d, err := m.Decimal()
	if err != nil || d == nil {
		return "?", false
	}
	n, _ := Digits(string(m.Currency()))
	return Number(d, n), true
}

// Money draws m as "1,234.50 EUR". An unknown currency keeps what it holds; a
// value that cannot be trusted is "? EUR".
func Money(m Moneyer) string {
	s, _ := Amount(m)
	c := m.Currency().Line(12)
	if c == "" {
		return s
	}
	return s + " " + c
}
