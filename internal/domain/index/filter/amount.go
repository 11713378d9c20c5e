package filter

import (
	"regexp"
	"strings"
)

// Forms of an amount as screens and letters write them; commas or points group thousands.
var (
	grouped  = regexp.MustCompile(`^[1-9]\d{0,2}(,\d{3})+(\.\d+)?$`)          // 1,682.00 and 1,682: as lists draw them
	european = regexp.MustCompile(`^[1-9]\d{0,2}(\.\d{3})+,\d+$`)             // 1.682,00
	points   = regexp.MustCompile(`^[1-9]\d{0,2}\.\d{3}(\.\d{3})+$`)          // 1.682.000
	swiss    = regexp.MustCompile(`^[1-9]\d{0,2}(['’]\d{3})+([.,]\d{1,2})?$`) // 1'682.00
	comma    = regexp.MustCompile(`^\d+,\d+$`)                                // 1682,5; 1,68
	decimal  = regexp.MustCompile(`^\d+(\.\d+)?$`)
	leading  = regexp.MustCompile(`^[+-]?([1-9]\d{0,2}(,\d{3})*(,\d{0,2}|\.\d*)?|0(\.\d*)?)$`) // 99,999, before a cut
)

// readAmount converts an amount as people write it to digits with a point. 1,682 is grouped, as lists draw it; a
// comma that cannot group is a decimal one.
func readAmount(s string) (digits string, ok bool) {
	sign := ""
	if rest, minus := strings.CutPrefix(s, "-"); minus {
		s, sign = rest, "-"
	} else {
		s = strings.TrimPrefix(s, "+")
	}
	switch {
	case len(s) > maxDigits || s == "":
		return "", false
	case decimal.MatchString(s):
	case grouped.MatchString(s):
		s = strings.ReplaceAll(s, ",", "")
	case european.MatchString(s):
		s = strings.Replace(strings.ReplaceAll(s, ".", ""), ",", ".", 1)
	case points.MatchString(s):
		s = strings.ReplaceAll(s, ".", "")
	case swiss.MatchString(s):
		s = strings.NewReplacer("'", "", "’", "", ",", ".").Replace(s)
	case comma.MatchString(s):
		s = strings.Replace(s, ",", ".", 1)
	default:
		return "", false
	}
	return sign + s, true
}

// separated reports whether an amount is written with separators of thousands or with a decimal comma.
func separated(s string) bool {
	return strings.ContainsAny(s, ",'’") || points.MatchString(strings.TrimLeft(s, "+-"))
}

// cutDigits bounds the digits that a cut amount can have behind those that are shown.
const cutDigits = 24

// cutAmount lists the ranges of the amounts that lists draw with s before the sign of the cut; nil if s is none.
func cutAmount(s string) (out []Value) {
	if !leading.MatchString(s) {
		return nil
	}
	whole, frac, point := strings.Cut(strings.NewReplacer(",", "", "+", "").Replace(s), ".")
	if point || strings.TrimPrefix(whole, "-") == "0" {
		return []Value{decimalsFrom(whole, frac)}
	}
	for n := range cutDigits {
		key, _ := decimalKey(whole + strings.Repeat("0", n))
		out = append(out, keysFrom(key, n))
	}
	return out
}

// decimalsFrom is the range of the amounts whose decimals begin like frac, the one that ends there included: keys have
// no needless zeros.
func decimalsFrom(whole, frac string) Value {
	key, _ := decimalKey(whole + "." + frac + "1")
	key = strings.TrimSuffix(key, "~")
	exact := key[:len(key)-1]
	least, most := exact[:len(exact)-len(frac)+len(strings.TrimRight(frac, "0"))], exact
	if strings.HasPrefix(whole, "-") {
		least, most = most, least
	}
	return Value{Range: true, lo: point{set: true, key: least}, hi: point{set: true, key: most + "~~"}}
}

// keysFrom is the range of keys that begin like key without its last digits.
func keysFrom(key string, without int) Value {
	key = strings.TrimSuffix(key, "~")
	key = key[:len(key)-without]
	return Value{Range: true, lo: point{set: true, key: key}, hi: point{set: true, key: key + "~~"}}
}

// amounts splits the values of an amount at the commas and bars that part a list; grouped ones are one value.
func amounts(s string) []string {
	var out []string
	for _, part := range strings.Split(s, "|") {
		out = append(out, commaParts(part)...)
	}
	return out
}

// commaParts splits at commas, unless they belong to an amount or to both ends of a range.
func commaParts(s string) (out []string) {
	lo, hi, isRange := strings.Cut(s, "..")
	if !strings.Contains(s, ",") || inOne(lo) && (!isRange || hi == "" || inOne(hi)) {
		return []string{s}
	}
	fields := strings.Split(s, ",")
	for len(fields) > 0 {
		n := len(fields)
		for n > 1 && !inOne(strings.Join(fields[:n], ",")) {
			n--
		}
		out = append(out, strings.Join(fields[:n], ","))
		fields = fields[n:]
	}
	return out
}

// inOne reports whether s is one amount and no list of them: a list has no number with a needless zero.
func inOne(s string) bool {
	s = strings.TrimLeft(s, "+-")
	if _, last, ok := strings.Cut(s, ","); ok && comma.MatchString(s) && !grouped.MatchString(s) {
		return len(last) > 1 && last[0] == '0'
	}
	return s == "" || grouped.MatchString(s) || european.MatchString(s) || swiss.MatchString(s) ||
		!strings.Contains(s, ",")
}
