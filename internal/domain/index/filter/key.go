package filter

import (
	"fmt"
	"strings"

	"opdeck/api"
)

// Keys sort as byte strings in the order of their numbers: a sign (0 for negative), four digits for the number of
// whole digits, the whole digits, then the decimals without trailing zeros. Negative numbers have complemented digits
// (9−d) and a final tilde.
const (
	keyLeast = "0"
	// KeyBad is the key of an amount that is not a number; it sorts before all numbers.
	KeyBad = "!"
	// KeyNone is the key of a missing amount.
	KeyNone   = ""
	maxDigits = 2000
)

// MoneyKey is the sort key of an amount: KeyNone without one, KeyBad if it is not a number.
func MoneyKey(m api.Money) string {
	if m.Empty() {
		return KeyNone
	}
	if m.Unclear {
		return KeyBad
	}
	if key, ok := quickKey(string(m.Units), string(m.Nanos)); ok {
		return key
	}
	d, err := m.Decimal()
	if err != nil {
		return KeyBad
	}
	key, ok := decimalKey(d.Text('f'))
	if !ok {
		return KeyBad
	}
	return key
}

// quickKey is the key of a common amount: positive, at most 18 digits.
func quickKey(units, nanos string) (key string, ok bool) {
	if len(units) > 18 || len(nanos) > 9 {
		return "", false
	}
	var b [32]byte
	k := append(b[:0], "10000"...)
	units = strings.TrimLeft(units, "0")
	k[3], k[4] = byte('0'+len(units)/10), byte('0'+len(units)%10)
	k = append(append(append(k, units...), "000000000"[len(nanos):]...), nanos...)
	for _, c := range k[5:] {
		if c < '0' || c > '9' {
			return "", false
		}
	}
	end := len(k)
	for end > 5+len(units) && k[end-1] == '0' {
		end--
	}
	return string(k[:end]), true
}

// decimalKey is the sort key of a typed decimal: digits, one point, a minus; ok is false for anything else, as an
// exponent or separators.
func decimalKey(s string) (key string, ok bool) {
	digits, negative := strings.CutPrefix(s, "-")
	whole, frac, point := strings.Cut(digits, ".")
	if strings.Trim(whole+frac, "0123456789") != "" || whole == "" || point && frac == "" || len(digits) > maxDigits {
		return "", false
	}
	whole = strings.TrimLeft(whole, "0")
	frac = strings.TrimRight(frac, "0")
	body := fmt.Sprintf("%04d%s%s", len(whole), whole, frac)
	if !negative || whole+frac == "" {
		return "1" + body, true
	}
	b := []byte(body)
	for i, c := range b {
		b[i] = '0' + '9' - c
	}
	return "0" + string(b) + "~", true
}

// KeyDecimal converts a key to the decimal; ok is false for KeyBad and KeyNone.
func KeyDecimal(key string) (s string, ok bool) {
	if len(key) < 5 || key[0] != '0' && key[0] != '1' {
		return "", false
	}
	b := []byte(strings.TrimSuffix(key[1:], "~"))
	sign := ""
	if key[0] == '0' {
		sign = "-"
		for i, c := range b {
			b[i] = '0' + '9' - c
		}
	}
	var n int
	if _, err := fmt.Sscanf(string(b[:4]), "%d", &n); err != nil || len(b) < 4+n {
		return "", false
	}
	whole, frac := string(b[4:4+n]), string(b[4+n:])
	if whole == "" {
		whole = "0"
	}
	if frac != "" {
		frac = "." + frac
	}
	return sign + whole + frac, true
}
