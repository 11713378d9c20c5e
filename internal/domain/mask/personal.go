package mask

import (
	"strings"
	"unicode/utf8"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// Detail is the value of a field, masked where masked says so and it leads to a
// person or holds an account number.
func Detail(d api.Detail, masked bool) untrusted.Text {
	switch {
	case !masked:
		return d.Value
	case d.Personal:
		return untrusted.Text(Personal(string(d.Value)))
	}
	return untrusted.Text(Text(string(d.Value)))
}

// Personal leaves nothing of "", the first letter and the host of a mail address, and the last
// two characters of anything else longer than four.
func Personal(s string) string {
	if at := strings.LastIndexByte(s, '@'); at > 0 {
		_, first := utf8.DecodeRuneInString(s)
		return s[:first] + dots + s[at:]
	}
	r := []rune(s)
	switch {
	case len(r) == 0:
		return ""
	case len(r) <= 4:
		return dots
	}
	return dots + string(r[len(r)-2:])
}
