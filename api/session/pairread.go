package session

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"opdeck/api/jsontree"
	"opdeck/api/secret"
)

// Names are extra names of the members that hold a pair in the answer to a login or refresh; "a.b" is the member b of
// a. "" adds none.
type Names struct {
	Access, Refresh       string
	AccessTTL, RefreshTTL string
}

// known are the usual names, most specific first (service facts 2.1 lists the first ones).
var known = struct{ access, refresh, accessTTL, refreshTTL []string }{
	access: []string{"accessToken", "access.token", "tokens.access", "access", "authToken", "bearerToken", "sessionToken",
		"jwt", "token"},
	refresh: []string{"refreshToken", "refresh.token", "tokens.refresh", "refresh"},
	accessTTL: []string{"accessTtl", "accessTokenTtl", "accessExpiresIn", "accessTokenExpiresIn", "access.ttl",
		"access.expiresIn", "expiresIn", "accessTokenExpiresAt", "accessExpiresAt", "access.expiresAt", "expiresAt", "ttl",
		"expires"},
	refreshTTL: []string{"refreshTtl", "refreshTokenTtl", "refreshExpiresIn", "refreshTokenExpiresIn", "refresh.ttl",
		"refresh.expiresIn", "refreshTokenExpiresAt", "refreshExpiresAt", "refresh.expiresAt"},
}

// pairIn finds a pair and its announced lifetimes in an answer of any usual shape.
func (n Names) pairIn(v jsontree.Value) (access, refresh, accessTTL, refreshTTL string) {
	find := func(own string, usual []string) string {
		if own != "" {
			usual = append([]string{own}, usual...)
		}
		s, _ := v.Find(usual...)
		return strings.TrimSpace(s)
	}
	return bare(find(n.Access, known.access)), bare(find(n.Refresh, known.refresh)),
		find(n.AccessTTL, known.accessTTL), find(n.RefreshTTL, known.refreshTTL)
}

// bare is a token without its scheme ("Bearer").
func bare(token string) string {
	if scheme, rest, ok := strings.Cut(token, " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(rest)
	}
	return token
}

// readPair reads the pair from an answer. seen is "", or what keeps it from being one; key is the one under
// [service] that mends it.
func (a *answer) readPair(v jsontree.Value, names Names) (seen, key string) {
	access, refresh, accessTTL, refreshTTL := names.pairIn(v)
	if access == "" {
		return "it has no access token under a known name", "access_token_field"
	}
	if !tokenLike(access) || refresh != "" && !tokenLike(refresh) {
		return "its tokens cannot be sent in a header", ""
	}
	now := a.served
	if now.IsZero() {
		now = time.Now()
	}
	jwt, exp, _ := lifetimeOf(access)
	if !exp.IsZero() && !a.served.IsZero() && !exp.After(a.served) {
		return "its access token has already expired", ""
	}
	life, u, warning, ok := accessLife(announced(accessTTL, now), jwt, now)
	if !ok {
		return "it has no plausible lifetime of the access token", "access_ttl_field"
	}
	a.outcome, a.warning = OK, warning
	a.access, a.refresh = secret.New(access), secret.New(refresh)
	a.accessTTL, a.refreshTTL = life, refreshLife(announced(refreshTTL, now), u, now)
	return "", ""
}

// tokenLike reports whether s can be a token: printable ASCII without spaces, at most maxToken bytes (rule D1).
func tokenLike(s string) bool { return s != "" && len(s) <= maxToken && ascii(s) }

// isoSpan is a duration of ISO 8601 without years and months: PT5M, P1DT2H.
var isoSpan = regexp.MustCompile(`^[pP](?:(\d+)[dD])?(?:[tT](?:(\d+)[hH])?(?:(\d+)[mM])?(?:(\d+(?:\.\d+)?)[sS])?)?$`)

// announced is a lifetime as a number: unchanged, or in seconds if it has a unit or is the time of expiry; now is the
// service's clock. 0: unreadable.
func announced(s string, now time.Time) float64 {
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		return v
	}
	if m := isoSpan.FindStringSubmatch(s); m != nil && len(s) > 2 {
		total := 0.0
		for i, seconds := range []float64{86400, 3600, 60, 1} {
			v, _ := strconv.ParseFloat(m[i+1], 64) // "" is 0
			total += v * seconds
		}
		return total
	}
	if d, err := time.ParseDuration(strings.ToLower(strings.ReplaceAll(s, " ", ""))); err == nil {
		return d.Seconds()
	}
	for _, form := range []string{time.RFC3339Nano, time.DateTime, http.TimeFormat} {
		if at, err := time.Parse(form, s); err == nil {
			return at.Sub(now).Seconds()
		}
	}
	return 0
}
