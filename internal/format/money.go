// Package format formats values in one way for every surface: money, times, sizes, counts. Its results are safe to
// draw.
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
	Empty() bool // there is no amount
	// Decimal returns the exact value, or why it is not valid (the signs of units and nanos differ, nanos out of
	// range, not a number).
	Decimal() (*apd.Decimal, error)
}

// Digits is the number of decimals of a currency by ISO 4217; ok is false for an unknown code.
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

// Number formats an exact decimal with thousands grouped by commas and at least digits decimals. It never rounds and
// never uses an exponent.
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

// Amount formats the number of m without its currency, "1,234.50", for columns aligned by the decimal point. ok is
// false without an amount ("–") and for an invalid one ("?"), whose raw fields the screen shows.
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

// Money formats m as "1,234.50 EUR". An unknown currency keeps all decimals; an invalid amount is "? EUR".
func Money(m Moneyer) string {
	s, _ := Amount(m)
	c := m.Currency().Line(12)
	if c == "" {
		return s
	}
	return s + " " + c
}
