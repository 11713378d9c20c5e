package redact

import (
	"strings"

	"github.com/google/uuid"
)

// lengths maps countries to the lengths of their IBANs (SWIFT registry).
var lengths = map[string]int{
	"AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BI": 27, "BR": 29, "BY": 28,
	"CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DJ": 27, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18,
	"FK": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HN": 28, "HR": 21, "HU": 28,
	"IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20,
	"LU": 20, "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MN": 20, "MR": 27, "MT": 31, "MU": 30, "NI": 28,
	"NL": 18, "NO": 15, "OM": 23, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "RU": 33, "SA": 24,
	"SC": 31, "SD": 18, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "SO": 23, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26,
	"UA": 29, "VA": 22, "VG": 24, "XK": 20, "YE": 30,
}

// Text is s with every IBAN masked as "••••1234": without separators, in any case, or in groups of four separated by
// single spaces, dots or dashes.
func Text(s string) string { return TextWith(s, dots) }

// TextWith is Text with with before the last four characters; it must not contain letters or digits.
func TextWith(s, with string) string {
	var b strings.Builder
	for i := 0; i+15 <= len(s); {
		end := ibanAt(s, i)
		if end == 0 {
			i++
			continue
		}
		b.WriteString(s[:i])
		b.WriteString(with)
		// The rest of one may be the start of the next.
		if last := tail(s[i:end]); last == s[end-4:end] {
			s = s[end-4:]
		} else {
			s = last + s[end:]
		}
		i = 0
	}
	return b.String() + s
}

// Changes reports whether Text changes s.
func Changes(s string) bool {
	for i := 0; i < len(s); i++ {
		if ibanAt(s, i) > 0 {
			return true
		}
	}
	return false
}

// tail is the last four letters and digits of an IBAN.
func tail(s string) string {
	var out []byte
	for i := len(s) - 1; i >= 0 && len(out) < 4; i-- {
		if digit(s[i]) || letter(s[i]) {
			out = append([]byte{s[i]}, out...)
		}
	}
	return string(out)
}

// ibanAt returns the end of an IBAN that begins at s[i], 0 if none does.
func ibanAt(s string, i int) int {
	if i+15 > len(s) || !digit(s[i+2]) || !digit(s[i+3]) || !letter(s[i]) || !letter(s[i+1]) {
		return 0
	}
	n := lengths[string([]byte{s[i] &^ 0x20, s[i+1] &^ 0x20})]
	if n == 0 {
		return 0
	}
	if end := take(s, i, n, false); end > 0 {
		return end
	}
	if end := take(s, i, n, true); end > 0 && !inUUID(s, i) {
		return end
	}
	return 0
}

// inUUID reports whether s[i] is part of a UUID. One UUID in twenty thousand contains what looks like a short IBAN in
// groups.
func inUUID(s string, i int) bool {
	for from := max(0, i-35); from <= i && from+36 <= len(s); from++ {
		before := from > 0 && (digit(s[from-1]) || letter(s[from-1]))
		after := from+36 < len(s) && (digit(s[from+36]) || letter(s[from+36]))
		if !before && !after && uuid.Validate(s[from:from+36]) == nil {
			return true
		}
	}
	return false
}

// take reads n letters and digits from s[i], in groups of four if grouped, and returns their end if the check digits
// are right.
func take(s string, i, n int, grouped bool) int {
	var c [34]byte
	for got := 0; got < n; got++ {
		if grouped && got > 0 && got%4 == 0 {
			w := gap(s, i)
			if w == 0 {
				return 0
			}
			i += w
		}
		if i >= len(s) || !digit(s[i]) && !letter(s[i]) {
			return 0
		}
		c[got] = s[i]
		i++
	}
	if !checked(c[:n]) {
		return 0
	}
	return i
}

// gap is the width of a separator between groups.
func gap(s string, i int) int {
	for _, g := range []string{" ", "-", ".", "\u00a0", "\u202f"} {
		if strings.HasPrefix(s[i:], g) {
			return len(g)
		}
	}
	return 0
}

// checked verifies ISO 7064, mod 97-10, with the first four characters moved to the end; letters count from 10.
func checked(c []byte) bool {
	r := 0
	for k := range c {
		switch b := c[(k+4)%len(c)]; {
		case digit(b):
			r = (r*10 + int(b-'0')) % 97
		default:
			r = (r*100 + int(b&^0x20-'A') + 10) % 97
		}
	}
	return r == 1
}

func digit(b byte) bool  { return b >= '0' && b <= '9' }
func letter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
