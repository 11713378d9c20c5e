// Package redact masks what identifies an account, a card or a person: numbers by their form and place, members by
// their names, and what the service says in sentences. Texts of the service pass Said where they are taken in, so that
// no surface has to; what is masked in records is the matter of package mask, which depends on the reader.
package redact

import (
	"strings"
	"unicode/utf8"

	"opdeck/api/untrusted"
)

// Dot replaces a hidden character.
const Dot = "•"

const dots = Dot + Dot + Dot + Dot

// Dots replace a hidden text.
const Dots = dots

// LastFour masks an account number except its last four letters and digits, "••••1234", regardless of its length. One
// of at most four is masked completely.
func LastFour(n untrusted.Text) untrusted.Text {
	s := strings.TrimRight(n.Line(128), " ")
	if s == "" {
		return ""
	}
	r := []rune(s)
	if len(r) <= 4 {
		return dots
	}
	return untrusted.Text(dots + string(r[len(r)-4:]))
}

// Person masks all of s except the first letter and the host of a mail address, or the last two characters of any
// other text longer than four.
func Person(s string) string {
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
