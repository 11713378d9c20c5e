package mask

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// Detail is the value of a field, masked if masked is true: as in JSON at the path of the field, which may be its
// label; a value that is JSON is masked inside.
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

// Personal masks all of s except the first letter and the host of a mail address, or the last two characters of any
// other text longer than four.
func Personal(s string) string {
	if at := strings.LastIndexByte(s, '@'); at > 0 && isHost(s[at+1:]) {
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

// isHost reports whether s has the letters of a host name only: behind the @ of any other text may be more of it.
func isHost(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '.' && r != '-' && r < 0x80 && !digit(byte(r)) && !letter(byte(r))
	})
}
