package mask

import (
	"strings"

	"opdeck/api/redact"
)

// address masks, in every web address in a text, the login and the query values whose names suggest a secret.
func address(s string) string {
	var b strings.Builder
	for {
		at := strings.Index(s, "://")
		if at < 0 {
			return b.String() + s
		}
		b.WriteString(s[:at+3])
		s = s[at+3:]
		end := strings.IndexAny(s, " \t\r\n\"'<>")
		if end < 0 {
			end = len(s)
		}
		b.WriteString(addressParts(s[:end]))
		s = s[end:]
	}
}

// addressParts masks an address after its scheme.
func addressParts(s string) string {
	host := strings.IndexAny(s, "/?#")
	if host < 0 {
		host = len(s)
	}
	if at := strings.LastIndexByte(s[:host], '@'); at >= 0 {
		s, host = redact.Dots+s[at:], host-at+len(redact.Dots)
	}
	query := strings.IndexByte(s[host:], '?')
	if query < 0 {
		return s
	}
	var b strings.Builder
	rest := s[host+query:]
	b.WriteString(s[:host+query])
	for rest != "" {
		end := strings.IndexAny(rest[1:], "&#;") + 1
		if end == 0 {
			end = len(rest)
		}
		name, _, given := strings.Cut(rest[1:end], "=")
		if given && redact.KindOf(name, redact.Open) == redact.Secret {
			b.WriteString(rest[:1] + name + "=" + redact.Dots)
		} else {
			b.WriteString(rest[:end])
		}
		rest = rest[end:]
	}
	return b.String()
}
