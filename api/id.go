package api

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

var (
	uuids = regexp.MustCompile(`(?i)\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)
	label = regexp.MustCompile(`^(?:[\pL][\pL ]{0,30}[:#=]\s+|(?i:operation|customer|opid|cuid|id)[:#=])\s*(\S+)$`)
)

// around are the characters that mails and sheets put around an id.
const around = "\"'`“”„‟‘’‚«»‹›<>()[]{},; "

// ReadID is the one id in a text that somebody pasted: without invisible characters, quotes, brackets, punctuation, a
// label or the address around it, and with plain hyphens. Of a text without one it is the text, trimmed.
func ReadID(text string) string {
	s := strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r >= 0x2010 && r <= 0x2015 || r == 0x2212:
			return '-'
		case r >= 0xff01 && r <= 0xff5e:
			return []rune(norm.NFKC.String(string(r)))[0]
		case unicode.Is(unicode.Cf, r):
			return -1
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, text))
	if all := slices.Compact(uuids.FindAllString(s, -1)); len(all) == 1 {
		return all[0]
	} else if len(all) > 1 {
		return s
	}
	if at, err := url.Parse(strings.Trim(s, around)); err == nil && at.Host != "" {
		parts := strings.Split(strings.Trim(at.Path, "/"), "/")
		return parts[len(parts)-1]
	}
	if m := label.FindStringSubmatch(s); m != nil {
		s = m[1]
	}
	if s = strings.Trim(s, around); !strings.HasSuffix(s, "...") {
		s = strings.TrimSuffix(s, ".")
	}
	return s
}

// Unusual names the characters of an id that no id of the service has, with their code points; "" if there are none.
func Unusual(id string) string {
	var out []string
	for _, r := range id {
		if r < '!' || r > '~' && r != '…' {
			out = append(out, fmt.Sprintf("%q (%U)", r, r))
		}
	}
	return strings.Join(slices.Compact(out), ", ")
}
