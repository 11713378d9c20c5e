package audit

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"opdeck/api/redact"
	"opdeck/api/untrusted"
)

// Limits of a text in a record, in bytes before quoting.
const (
	maxWord = 200  // names, identifiers
	maxText = 1000 // sentences
	maxRead = 256 << 10
)

// secrets matches secrets that must never be stored.
var secrets = []struct {
	shape *regexp.Regexp
	with  string
}{
	{regexp.MustCompile(`eyJ[A-Za-z0-9_-]{5,}(\.[A-Za-z0-9_-]*){1,2}`), "***"},
	{regexp.MustCompile(`(?i)(/auth/refresh/)[^\s/?#"']+`), "${1}***"},
	{regexp.MustCompile(`(?i)(bearer|basic)(\s+)[^\s"',;]+`), "${1}${2}***"},
	{regexp.MustCompile(`(?i)((?:token|secret|password|passwd|api[_-]?key|authorization)["']?\s*[:=]\s*["']?)[^\s"'&,;]+`),
		"${1}***"},
}

// scrub removes known forms of secrets from s.
func scrub(s string) string {
	for _, x := range secrets {
		s = x.shape.ReplaceAllString(s, x.with)
	}
	return s
}

// hidden replaces what is masked: a record is ASCII.
const hidden = "***"

// bounded returns s without secrets, at most max bytes, on one line: printable ASCII without quote and backslash
// unchanged, anything else quoted.
func bounded(s string, max int) string { return keep(s, max, scrub) }

// prose is bounded for sentences of at most maxText bytes; it also masks
// what redact.Said does.
func prose(s string) string {
	return keep(s, maxText, func(s string) string { return redact.SaidWith(scrub(s), hidden) })
}

func keep(s string, max int, clean func(string) string) string {
	whole := len(s)
	if whole > maxRead { // a word cut in two is dropped: it may be half a secret
		s = s[:maxRead]
		s = s[:strings.LastIndexAny(s, " \n\t\"'")+1]
	}
	s = clean(s)
	if len(s) > max || whole > maxRead {
		end := min(max, len(s))
		for end > 0 && end < len(s) && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + fmt.Sprintf(" [cut, %d bytes]", whole)
	}
	if plain(s) {
		return s
	}
	return strconv.QuoteToASCII(s)
}

func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Unquote returns a record's text before quoting, to be drawn like any text from outside.
func Unquote(s string) untrusted.Text {
	if strings.HasPrefix(s, `"`) {
		if u, err := strconv.Unquote(s); err == nil {
			return untrusted.Text(u)
		}
	}
	return untrusted.Text(s)
}
