package mask

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// Detail is the value of a field, masked where masked says so: as JSON does it at the
// path of the field, which may be its label, in all of it where it is JSON itself.
func Detail(d api.Detail, masked bool) untrusted.Text {
	s, path := string(d.Value), cmp.Or(d.Path, d.Label)
	switch {
	case !masked:
	case strings.HasPrefix(s, "{") || strings.HasPrefix(s, "["):
		return untrusted.Text(within(path, []byte(s)))
	case s != "true" && s != "false" && s != "–":
		return untrusted.Text(hide(s, holds(levels(path), s)))
	}
	return d.Value
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
