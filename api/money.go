package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
)

// Money is a value in the service's form: whole units as text of any length plus billionths of a unit (spec, Amount
// wrapper). It is never a float. The parts are kept unchanged; Decimal says whether they are a number.
type Money struct {
	CurrencyCode untrusted.Text `json:"currencyCode"`
	Units        Number         `json:"units"`
	Nanos        Number         `json:"nanos"`

	// Unclear: the amount is not known, since it did not come in the documented form.
	Unclear bool   `json:"-"`
	came    string // the JSON of an Unclear value
}

// ReadMoney reads {currencyCode, units, nanos}, each once and nothing beside them; webhooks say currency_code. With
// zeros omitted, as in webhooks, a missing units or nanos is 0. Anything else is Unclear: a member beside the parts may
// change what they mean, unless IgnoreBesideAmounts names it. null is no amount.
func ReadMoney(v jsontree.Value, omitted bool) Money {
	if v.Kind() == 0 || v.Null() {
		return Money{}
	}
	var parts [3]jsontree.Value // currency, units, nanos
	clear := v.Kind() == jsontree.Object
	for name, it := range v.Members() {
		switch i := slices.Index(moneyMembers[:], name); {
		case name == "currency_code" && parts[0].Kind() == 0:
			parts[0] = it
		case i >= 0 && parts[i].Kind() == 0:
			parts[i] = it
		case !besideAmount(name):
			clear = false
		}
	}
	m := Money{CurrencyCode: untrusted.Text(parts[0].Text())}
	for i, to := range []*Number{&m.Units, &m.Nanos} {
		part := parts[i+1]
		switch part.Kind() {
		case jsontree.String, jsontree.Number:
			*to = numberOf(part)
		case 0:
			*to, clear = "0", clear && omitted
		default:
			clear = false
		}
	}
	if !clear || m.CurrencyCode == "" || m.Units == "" || m.Nanos == "" {
		return UnclearMoney(v, m.CurrencyCode)
	}
	return m
}

var moneyMembers = [...]string{"currencyCode", "units", "nanos"}

// UnclearMoney is the amount that v does not tell.
func UnclearMoney(v jsontree.Value, currency untrusted.Text) Money {
	return Money{CurrencyCode: currency, Unclear: true, came: string(v.Raw())}
}

// Holds lists the members of an Unclear value and their kinds, never a value; "" for any other.
func (m Money) Holds() string { return ParseJSON([]byte(m.came)).Keys() }

var ignored atomic.Pointer[[]string]

// IgnoreBesideAmounts names the members that may stand beside the parts of an amount without changing it ([service]
// amount_ignore), for all reads of this process.
func IgnoreBesideAmounts(names []string) { ignored.Store(&names) }

// IgnoredBesideAmounts returns the names of IgnoreBesideAmounts.
func IgnoredBesideAmounts() []string {
	if names := ignored.Load(); names != nil {
		return *names
	}
	return nil
}

// IsAmountPart reports whether a name, in any spelling, is that of a part of an amount or of an object around it.
func IsAmountPart(name string) bool {
	return slices.ContainsFunc([]string{"currencyCode", "units", "nanos", "sum", "money", "default"},
		func(part string) bool { return sameName(part, name) })
}

// besideAmount reports whether a member beside the parts of an amount is harmless.
func besideAmount(name string) bool { return slices.Contains(IgnoredBesideAmounts(), name) }

func (m *Money) check(v jsontree.Value) { *m = ReadMoney(v, false) }

// twice implements single.
func (m *Money) twice(v jsontree.Value) { *m = UnclearMoney(v, "") }

// check makes an amount not known that is not in an object of its own, or not alone in it.
func (a *Amount) check(v jsontree.Value) {
	if ObjectIn(v).Member("sum").Kind() == 0 || !WrapsAmount(v, "sum") {
		a.Sum = UnclearMoney(v, "")
	}
}

// twice implements single.
func (a *Amount) twice(v jsontree.Value) { a.Sum = UnclearMoney(v, "") }

// WrapsAmount reports whether an object around amounts has each of the names at most once, and the member default, and
// nothing else that may change what they mean.
func WrapsAmount(v jsontree.Value, names ...string) bool {
	seen := 0
	names = append(names, "default")
	for name := range v.Members() {
		switch i := slices.Index(names, name); {
		case i >= 0 && seen&(1<<i) == 0:
			seen |= 1 << i
		case !besideAmount(name):
			return false
		}
	}
	return true
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
	if m.came != "" {
		return m.Holds()
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
