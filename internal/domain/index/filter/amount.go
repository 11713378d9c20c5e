package filter

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/currency"

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
	keyAfter  = "~~" // behind a key: after all keys that begin with it
	maxDigits = 2000
)

// MoneyKey is the sort key of an amount: KeyNone without one, KeyBad if it is not a number.
func MoneyKey(m api.Money) string {
	if m.Empty() {
		return KeyNone
	}
	if d, err := m.Decimal(); err == nil && !m.Unclear {
		if key, ok := decimalKey(d.Text('f')); ok {
			return key
		}
	}
	return KeyBad
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
	return "0" + complement(body) + "~", true
}

func complement(digits string) string {
	b := []byte(digits)
	for i, c := range b {
		b[i] = '0' + '9' - c
	}
	return string(b)
}

// KeyDecimal converts a key to the decimal; ok is false for KeyBad and KeyNone.
func KeyDecimal(key string) (s string, ok bool) {
	if len(key) < 5 || key[0] != '0' && key[0] != '1' {
		return "", false
	}
	body, sign := key[1:], ""
	if key[0] == '0' {
		body, sign = complement(strings.TrimSuffix(body, "~")), "-"
	}
	var n int
	if _, err := fmt.Sscanf(body[:4], "%d", &n); err != nil || len(body) < 4+n {
		return "", false
	}
	whole, frac := body[4:4+n], body[4+n:]
	if whole == "" {
		whole = "0"
	}
	if frac != "" {
		frac = "." + frac
	}
	return sign + whole + frac, true
}

// amount is an amount as people write it.
type amount struct {
	digits string   // with a point, without separators
	least  string   // of one that is rounded, such as 137k: its range, in digits; "": it is exact
	below  string   // its end, which is not in it
	most   string   // the last whole number below that: what begins so is in it
	codes  []string // the currencies that its sign can mean; nil: none was written
	text   string   // as typed, without the currency
}

// signs are the currencies that a sign can mean.
var signs = map[rune][]string{'$': {"USD", "AUD", "CAD", "HKD", "MXN", "NZD", "SGD"}, '€': {"EUR"}, '£': {"GBP"},
	'¥': {"JPY", "CNY"}, '₹': {"INR"}, '₽': {"RUB"}, '₴': {"UAH"}, '₺': {"TRY"}, '₩': {"KRW"}, '₿': {"BTC"}, '₮': {"USDT"}}

var (
	written  = regexp.MustCompile(`^([+-]?)([^\s\d+.,-]{0,3}) ?([+-]?)(\d[\d,.'’ ]*?)([kKmM]?) ?([^\s\d.,-]{0,3})$`)
	decimal  = regexp.MustCompile(`^\d+(\.\d+)?$`)
	leading  = regexp.MustCompile(`^-?([1-9]\d{0,2}(,\d{3})*(,\d{0,2}|\.\d*)?|0(\.\d*)?)$`) // 99,999, before a cut
	powers   = map[string]int{"k": 3, "m": 6}
	apostrof = strings.NewReplacer("’", "'")
)

// readAmount reads an amount as people write and mail it: 1,682.00, 1.682,00, 1'682.00, 1 682,00, $1,682, EUR 12.50,
// 137k. 1,682 is grouped, as lists draw it; a comma that cannot group is a decimal one.
func readAmount(s string) (a amount, ok bool) {
	m := written.FindStringSubmatch(strings.Join(strings.Fields(s), " "))
	if m == nil || len(s) > maxDigits || m[1] != "" && m[3] != "" || m[2] != "" && m[6] != "" {
		return a, false
	}
	digits, ok := readDigits(apostrof.Replace(m[4]))
	if code := m[2] + m[6]; ok && code != "" {
		if a.codes = codesOf(code); a.codes == nil { // 5MXN are no millions
			a.codes, m[5] = codesOf(m[5]+code), ""
		}
		ok = a.codes != nil
	}
	if !ok {
		return a, false
	}
	sign := strings.TrimPrefix(m[1]+m[3], "+")
	a.text = sign + strings.TrimSpace(m[4]) + m[5]
	if m[5] == "" {
		a.digits = sign + digits
		return a, true
	}
	return a.rounded(sign, digits, powers[strings.ToLower(m[5])])
}

// codesOf are the currencies of a sign or a code; nil: it is none.
func codesOf(s string) []string {
	if sign, n := utf8.DecodeLastRuneInString(s); signs[sign] != nil {
		var codes []string
		for _, code := range signs[sign] {
			if strings.HasPrefix(code, s[:len(s)-n]) { // US$
				codes = append(codes, code)
			}
		}
		return codes
	}
	if _, err := currency.ParseISO(s); err != nil || s != strings.ToUpper(s) {
		return nil
	}
	return []string{s}
}

// rounded is what people call 137k: 136,500 and more, up to 137,500.
func (a amount) rounded(sign, digits string, power int) (amount, bool) {
	whole, frac, _ := strings.Cut(digits, ".")
	zeros := power - len(frac) // behind what was said
	n, ok := new(big.Int).SetString(whole+frac+strings.Repeat("0", max(zeros, 0)), 10)
	if !ok || zeros < 1 {
		return a, false
	}
	half := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(zeros)), nil)
	half.Rsh(half, 1)
	least, below := new(big.Int).Sub(n, half), new(big.Int).Add(n, half)
	a.digits, a.least, a.below = sign+n.String(), sign+least.String(), sign+below.String()
	a.most = sign + below.Sub(below, big.NewInt(1)).String()
	return a, true
}

// readDigits joins the groups of thousands and sets a point before the decimals.
func readDigits(s string) (digits string, ok bool) {
	if decimal.MatchString(s) {
		return s, true
	}
	groups := strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	seps := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
	if len(seps) != len(groups)-1 || seps == "" {
		return "", false
	}
	last := len(seps) - 1
	same := strings.Count(seps, seps[:1])
	switch {
	case same == len(seps) && grouped(groups) && (seps[0] != '.' || last > 0):
		return strings.Join(groups, ""), true
	case seps == ",":
		return groups[0] + "." + groups[1], true
	case same == last && last > 0 && (seps[last] == '.' || seps[last] == ',') && grouped(groups[:last+1]):
		return strings.Join(groups[:last+1], "") + "." + groups[last+1], true
	}
	return "", false
}

// grouped reports whether digits are in groups of thousands.
func grouped(groups []string) bool {
	if n := len(groups[0]); n > 3 || groups[0][0] == '0' {
		return false
	}
	return !slices.ContainsFunc(groups[1:], func(g string) bool { return len(g) != 3 })
}

// value is the value of an amount for a leaf; whole: without rounding.
func (a amount) value(text string, whole bool) (Value, bool) {
	v := Value{Text: text}
	key, ok := decimalKey(a.digits)
	v.lo = point{set: true, key: key}
	if ok && a.least != "" && !whole {
		least, _ := decimalKey(a.least)
		most, _ := decimalKey(a.most)
		if key[0] == '0' {
			least, most = strings.TrimSuffix(most, "~"), strings.TrimSuffix(least, "~")
		}
		v.rounded, v.lo.key, v.hi = true, least, point{set: true, key: most + keyAfter}
	}
	return v, ok
}

// says is the amount for people; "" if it is as typed.
func (a amount) says(typed string) string {
	said := a.digits
	switch {
	case a.least != "":
		said = a.least + " up to " + a.below
	case a.digits == strings.TrimPrefix(typed, "+"):
		return ""
	}
	if a.codes != nil {
		said += " " + strings.Join(a.codes, ", ")
	}
	return "the amount " + said
}

// cutDigits bounds the digits that a cut amount can have behind those that are shown.
const cutDigits = 24

// cutAmount lists the ranges of the amounts that lists draw with s before the sign of the cut; nil if s is none.
func cutAmount(s string) (out []Value) {
	if !leading.MatchString(s) {
		return nil
	}
	whole, frac, point := strings.Cut(strings.ReplaceAll(s, ",", ""), ".")
	if point || strings.TrimPrefix(whole, "-") == "0" {
		key, _ := decimalKey(whole + "." + frac + "1")
		key = strings.TrimSuffix(key, "~")
		exact := key[:len(key)-1]
		least := exact[:len(exact)-len(frac)+len(strings.TrimRight(frac, "0"))] // keys have no needless zeros
		if strings.HasPrefix(whole, "-") {
			return []Value{keys(exact, least)}
		}
		return []Value{keys(least, exact)}
	}
	for n := range cutDigits {
		key, _ := decimalKey(whole + strings.Repeat("0", n))
		key = strings.TrimSuffix(key, "~")
		out = append(out, keys(key[:len(key)-n], key[:len(key)-n]))
	}
	return out
}

// keys is the range from one key to all that begin with another.
func keys(from, to string) Value {
	return Value{Range: true, lo: point{set: true, key: from}, hi: point{set: true, key: to + keyAfter}}
}
