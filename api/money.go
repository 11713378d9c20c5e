package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api/jsontree"
	"opdeck/api/pattern"
	"opdeck/api/untrusted"
)

// Money is a value in the service's form: whole units as text of any length plus billionths of a unit (spec, Amount
// wrapper). It is never a float. The parts are kept unchanged; Decimal says whether they are a number.
type Money struct {
	CurrencyCode untrusted.Text `json:"currencyCode"`
	Units        Number         `json:"units"`
	Nanos        Number         `json:"nanos"`

	// Unclear: the value does not show how much it is. It is not an object, or has neither units nor nanos, or both
	// are zero beside unknown members, which may hold the value.
	Unclear bool `json:"-"`
	// Holds lists the members of an Unclear value and their kinds, never a value.
	Holds untrusted.Text `json:"-"`
}

var moneyMembers = []string{"currencyCode", "units", "nanos"}

func (m *Money) check(v jsontree.Value) {
	if !m.Units.zero() || !m.Nanos.zero() || v.Null() {
		return
	}
	other := false
	for name, it := range v.Members() {
		if !it.Null() && !slices.ContainsFunc(moneyMembers, func(m string) bool { return jsontree.SameName(m, name) }) {
			other = true
		}
	}
	came := m.Units != "" || m.Nanos != ""
	switch {
	case v.Kind() != jsontree.Object, other && !m.scaled(v, came), m.CurrencyCode != "" && m.Units == "" && m.Nanos == "":
		m.Unclear, m.Holds = true, untrusted.Text(v.Keys())
	}
}

// scaled reads {amount, scale}, a whole number of the smallest units and its number of decimals, and {value:
// "12.50"}, a decimal text. Neither needs the currency. zeros: units and nanos are present too and contradict it.
func (m *Money) scaled(v jsontree.Value, zeros bool) bool {
	word, ok := v.Named("amount", "value").Scalar()
	if !ok || zeros || !plainDecimal.MatchString(word) {
		return false
	}
	whole, fraction, point := strings.Cut(word, ".")
	if scale, given := v.Named("scale", "decimals", "fractionDigits").Scalar(); given {
		n, err := strconv.Atoi(scale)
		if err != nil || point || n < 0 || n > 9 {
			return false
		}
		minus, digits := "", whole
		if rest, is := strings.CutPrefix(whole, "-"); is {
			minus, digits = "-", rest
		}
		digits = strings.Repeat("0", max(n+1-len(digits), 0)) + digits
		whole, fraction = minus+digits[:len(digits)-n], digits[len(digits)-n:]
	} else if len(fraction) == 0 || len(fraction) == 3 { // smallest units, or groups of thousands
		return false
	}
	for name := range v.Members() {
		if !slices.ContainsFunc(scaledMembers, func(m string) bool { return jsontree.SameName(m, name) }) {
			return false
		}
	}
	nanos := strings.TrimLeft(fraction+strings.Repeat("0", 9-len(fraction)), "0")
	if strings.HasPrefix(whole, "-") && nanos != "" {
		nanos = "-" + nanos
	}
	if strings.Trim(whole, "-0") == "" {
		whole = "0"
	}
	m.Units, m.Nanos = Number(whole), Number(nanos)
	code, _ := v.Named("currencyCode", "currency", "currencyIso").Scalar()
	m.CurrencyCode = untrusted.Text(code)
	return true
}

var (
	plainDecimal  = pattern.New(`^-?[0-9]{1,40}(\.[0-9]{1,9})?$`)
	scaledMembers = append([]string{"amount", "value", "scale", "decimals", "fractionDigits", "currency", "currencyIso"},
		moneyMembers...)
)

// check reads the value when Amount holds it directly, without an object of its own.
func (a *Amount) check(v jsontree.Value) {
	if m := ObjectIn(v); !v.Null() && a.Sum.Empty() && !m.Has("sum") && !m.Has("default") {
		a.Sum = moneyIn(v)
	}
}

// moneyIn reads a Money from any value.
func moneyIn(v jsontree.Value) (m Money) {
	recordLayout(reflect.TypeFor[Money]()).read(v, reflect.ValueOf(&m).Elem())
	return m
}

// Amount wraps a value. Default, the same value in US dollars by the service's
// account page, is seen in webhooks only.
type Amount struct {
	Sum     Money  `json:"sum"`
	Default *Money `json:"default,omitempty"`
}

// Number is a JSON number, or a text with one, kept unchanged. A missing or null number is "" and counts as zero in
// webhooks, which omit zeros.
type Number untrusted.Text

// zero reports whether the number is missing or has only zeros.
func (n Number) zero() bool { return strings.Trim(string(n), "-0") == "" }

// UnmarshalJSON keeps the text of any scalar.
func (n *Number) UnmarshalJSON(b []byte) error {
	var s string
	switch {
	case string(b) == "null":
		*n = ""
	case len(b) > 0 && b[0] == '"' && json.Unmarshal(b, &s) == nil:
		*n = Number(s)
	default:
		*n = Number(b)
	}
	return nil
}

// MarshalJSON writes the number as text, as the service does with units.
func (n Number) MarshalJSON() ([]byte, error) { return json.Marshal(string(n)) }

// The reasons why a Money is not a number.
var (
	ErrNone    = errors.New("no amount was sent")
	ErrUnits   = errors.New("units are not a whole number")
	ErrNanos   = errors.New("nanos are not within ±999,999,999")
	ErrSign    = errors.New("units and nanos have different signs")
	ErrUnclear = errors.New("units and nanos give no clear amount")
)

const maxUnits = 1000 // digits; a bound on work, far above any amount

// Decimal returns the exact value units + nanos/10⁹, with at most nine decimals. It fails with ErrNone for an Empty
// amount, which is not zero, and with ErrUnits, ErrNanos, ErrSign or ErrUnclear: such an amount must be shown raw and
// marked, never as a number.
func (m Money) Decimal() (*apd.Decimal, error) {
	if m.Empty() {
		return nil, ErrNone
	}
	if m.Unclear {
		return nil, ErrUnclear
	}
	units, err := whole(string(m.Units), ErrUnits, maxUnits)
	if err != nil {
		return nil, err
	}
	nanos, err := whole(string(m.Nanos), ErrNanos, 9)
	if err != nil {
		return nil, err
	}
	if units.Sign()*nanos.Sign() < 0 {
		return nil, ErrSign
	}
	d := apd.NewWithBigInt(units, 0)
	d.Coeff.Mul(&d.Coeff, apd.NewBigInt(1_000_000_000))
	signed := new(apd.BigInt).Set(&d.Coeff)
	if d.Negative {
		signed.Neg(signed)
	}
	out := apd.NewWithBigInt(signed.Add(signed, nanos), -9)
	out.Reduce(out)
	if out.Exponent > 0 { // 5e3 is 5000 here
		if _, err := apd.BaseContext.WithPrecision(2*maxUnits).Quantize(out, out, 0); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnits, err)
		}
	}
	return out, nil
}

// Empty reports whether there is no amount: no currency and no value.
func (m Money) Empty() bool { return m == Money{} }

// Currency returns the currency code unchanged.
func (m Money) Currency() untrusted.Text { return m.CurrencyCode }

// Raw returns the parts unchanged, for amounts that are not numbers.
func (m Money) Raw() string {
	if m.Holds != "" {
		return string(m.Holds)
	}
	return fmt.Sprintf("%s units %s nanos %s", untrusted.Text(m.CurrencyCode).Quoted(),
		untrusted.Text(m.Units).Quoted(), untrusted.Text(m.Nanos).Quoted())
}

// String is for logs and tests: currency and exact value, or the raw parts.
func (m Money) String() string {
	d, err := m.Decimal()
	if err != nil {
		return m.Raw()
	}
	return m.CurrencyCode.Line(12) + " " + d.Text('f')
}

// whole parses digits with an optional minus, nothing else; "" is zero. bad is the error.
func whole(s string, bad error, maxDigits int) (*apd.BigInt, error) {
	if s == "" {
		return new(apd.BigInt), nil
	}
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(digits) > maxDigits || strings.Trim(digits, "0123456789") != "" {
		return nil, bad
	}
	n, ok := new(apd.BigInt).SetString(s, 10)
	if !ok {
		return nil, bad
	}
	return n, nil
}

// Rate returns to/from to 12 significant digits and whether it is exact; ok is false when one of them is zero or not
// a number.
func Rate(from, to Money) (rate *apd.Decimal, exact, ok bool) {
	f, err1 := from.Decimal()
	t, err2 := to.Decimal()
	if err1 != nil || err2 != nil || f.IsZero() || t.IsZero() {
		return nil, false, false
	}
	rate = new(apd.Decimal)
	cond, err := apd.BaseContext.WithPrecision(12).Quo(rate, t, f)
	if err != nil {
		return nil, false, false
	}
	rate.Reduce(rate)
	return rate, !cond.Inexact(), true
}
