package session

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"opdeck/api/secret"
)

// read judges a complete answer (rules D1, D3, D4, D6, D7).
func (a *answer) read(resp *http.Response, raw []byte, login bool) {
	if age := resp.Header.Get("Age"); age != "" && age != "0" {
		a.detail = "the answer comes from a cache"
		return
	}
	code := resp.StatusCode
	switch {
	case code/100 == 2:
		a.readPair(resp, raw)
		if a.outcome == Unknown && !pairLike(raw) {
			a.readWords(code, raw, login)
		}
	case code == http.StatusTooManyRequests:
		a.outcome, a.detail = Throttled, "too many requests"
		a.retryAfter = RetryAfter(resp.Header)
	case code/100 == 3:
		a.detail = faultRedirected
	default:
		a.detail = "not a usable answer"
		a.readWords(code, raw, login)
	}
}

// readWords judges an answer without tokens: its words decide at any status, and
// where they tell nothing, the status does.
func (a *answer) readWords(code int, raw []byte, login bool) {
	s := parseErrorAnswer(raw)
	out, unclear := s.verdict()
	switch {
	case out == TwoFactor:
		a.outcome, a.detail = TwoFactor, "a two-factor code is demanded"
	case !login && (out == Refused || Dead(code, raw, false) || refusal(code, login)):
		a.outcome, a.detail = Refused, "refused"
	case login && out == Refused:
		a.outcome, a.detail, a.unclear = Refused, "refused", unclear
	case login && refusal(code, login), login && code/100 == 2 && s.object && len(s.texts) > 0 && !s.isData &&
		!s.success && !s.matches(passing):
		a.outcome, a.detail, a.unclear = Refused, "refused", code != http.StatusUnauthorized
	}
	if a.outcome == Refused || a.outcome == TwoFactor {
		a.said = s
	}
}

// pairLike reports whether an answer means to hold a pair.
func pairLike(raw []byte) bool {
	var body pairBody
	return json.Unmarshal(raw, &body) == nil && body.AccessToken != ""
}

func refusal(code int, login bool) bool {
	switch code {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
		return true
	case http.StatusUnprocessableEntity:
		return login
	case http.StatusNotFound, http.StatusGone:
		return !login
	}
	return false
}

// pairBody is the answer to a login or refresh (service facts 2.1): flat.
type pairBody struct {
	AccessToken  string   `json:"accessToken"`
	RefreshToken string   `json:"refreshToken"`
	AccessTTL    announce `json:"accessTtl"`
	RefreshTTL   announce `json:"refreshTtl"`
}

// announce is a lifetime as a number, or a number carried as text; anything else is 0.
type announce float64

// UnmarshalJSON implements json.Unmarshaler.
func (n *announce) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(string(bytes.Trim(b, `"`)), 64)
	if err != nil {
		v = 0
	}
	*n = announce(v)
	return nil
}

func (a *answer) readPair(resp *http.Response, raw []byte) {
	if ct := resp.Header.Get("Content-Type"); ct != "" {
		kind, _, err := mime.ParseMediaType(ct)
		if err != nil || (kind != "application/json" && !strings.HasSuffix(kind, "+json")) {
			a.detail = "the answer is not JSON"
			return
		}
	}
	var body pairBody
	if err := json.Unmarshal(raw, &body); err != nil {
		a.detail = "the answer cannot be read"
		return
	}
	if !tokenLike(body.AccessToken) || (body.RefreshToken != "" && !tokenLike(body.RefreshToken)) {
		a.detail = "the answer holds no usable tokens"
		return
	}
	now := a.served
	if now.IsZero() {
		now = time.Now()
	}
	jwt, exp, _ := lifetimeOf(body.AccessToken)
	if !exp.IsZero() && !a.served.IsZero() && !exp.After(a.served) {
		a.detail = "the answer's access token is over already"
		return
	}
	life, u, warning, ok := accessLife(float64(body.AccessTTL), jwt, now)
	if !ok {
		a.detail = "the answer has no plausible lifetime"
		return
	}
	a.outcome, a.detail, a.warning = OK, "", warning
	a.access, a.refresh = secret.New(body.AccessToken), secret.New(body.RefreshToken)
	a.accessTTL, a.refreshTTL = life, refreshLife(float64(body.RefreshTTL), u, now)
}

// tokenLike reports whether s can be a token: printable ASCII without space, not
// too long (rule D1).
func tokenLike(s string) bool { return s != "" && len(s) <= maxToken && ascii(s) }

// RetryAfter reads the header of a 429: seconds, or a date less the answer's own
// Date (rule D4). 0: not told. At most five minutes.
func RetryAfter(h http.Header) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if n, err := strconv.ParseInt(v, 10, 64); err == nil {
		return min(max(0, time.Duration(min(n, 3600))*time.Second), MaxBackoff)
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return min(max(0, at.Sub(date)), MaxBackoff)
}
