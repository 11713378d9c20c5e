package session

import (
	"net/http"
	"net/url"
	"strings"

	"opdeck/api/redact"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

// Elsewhere is the target of a redirection, safe to draw: scheme, host and path, masked, without query, anything like a
// token, and hide.
func Elsewhere(h http.Header, hide secret.Value) string {
	to, err := url.Parse(h.Get("Location"))
	if err != nil || to.Host == "" && to.Path == "" {
		return "an address that it does not name"
	}
	parts := strings.Split(to.Path, "/")
	for i, part := range parts {
		if len(part) >= 40 || !hide.Empty() && strings.Contains(part, hide.Reveal()) {
			parts[i] = "…"
		}
	}
	where := strings.Join(parts, "/")
	if !hide.Empty() {
		where = strings.ReplaceAll(where, hide.Reveal(), "…")
	}
	if to.Host != "" {
		where = to.Scheme + "://" + to.Host + where
	}
	return untrusted.Text(redact.Said(where)).Line(maxQuote)
}
