package session

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"opdeck/api/jsontree"
	"opdeck/api/limit"
)

// read classifies a complete answer (rules D1, D3, D4, D6, D7). of is the request.
func (a *answer) read(resp *http.Response, raw []byte, of request) {
	if age := resp.Header.Get("Age"); age != "" && age != "0" {
		a.detail = "the answer comes from a cache"
		return
	}
	raw, err := jsontree.Unpack(raw, resp.Header.Get("Content-Encoding"), maxAnswer)
	if err != nil {
		a.detail = "the answer's encoding cannot be decoded"
		return
	}
	code := resp.StatusCode
	if code/100 != 2 {
		a.retryAfter = min(RetryAfter(resp.Header), MaxBackoff)
	}
	switch {
	case code/100 == 2:
		a.readGood(code, raw, of)
	case code == http.StatusTooManyRequests:
		a.outcome = Throttled
		a.retryAfter = limit.HoldFor(RetryAfter(resp.Header))
	case code/100 == 3:
	default:
		a.readWords(code, raw, of.kind == ByLogin)
	}
}

// readGood classifies an answer with a good status. A successful login without a token pair is Unreadable: another
// login would end every session again.
func (a *answer) readGood(code int, raw []byte, of request) {
	tree, err := jsontree.Parse(raw)
	if err != nil {
		a.readWords(code, raw, of.kind == ByLogin)
		return
	}
	v := tree.Root()
	a.readPair(v, of.names)
	if access, _, _, _ := of.names.pairIn(v); a.outcome == Unknown && access == "" {
		a.readWords(code, raw, of.kind == ByLogin)
	}
	s := parseErrorAnswer(raw)
	failed := s.object && !s.isData && len(s.texts) > 0
	if a.outcome == Unknown && of.kind == ByLogin && v.Kind() != jsontree.Word && !failed {
		a.outcome, a.keys = Unreadable, keysOf(v)
	}
}

// keysOf lists the members of an answer and of the objects in it, without values.
func keysOf(v jsontree.Value) string {
	var out []string
	for _, o := range v.Inside() {
		if len(out) < 3 {
			out = append(out, o.Keys())
		}
	}
	if len(out) == 0 {
		return v.Keys()
	}
	return strings.Join(out, "; inside it ")
}

// readWords classifies an answer without tokens: by its words at any status or, without known words, by the status.
func (a *answer) readWords(code int, raw []byte, login bool) {
	s := parseErrorAnswer(raw)
	out, unclear := s.verdict()
	switch {
	case out == TwoFactor:
		a.outcome = TwoFactor
	case !login && (out == Refused || Dead(code, raw, false) || refusal(code, login)):
		a.outcome = Refused
	case login && out == Refused:
		a.outcome, a.unclear = Refused, unclear
	case login && refusal(code, login), login && code/100 == 2 && s.object && len(s.texts) > 0 && !s.isData &&
		!s.success && !s.matches(passing):
		a.outcome, a.unclear = Refused, code != http.StatusUnauthorized
	}
	if a.outcome == Refused || a.outcome == TwoFactor {
		a.said = s
	}
}

func refusal(code int, login bool) bool {
	switch code {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
		return true
	case http.StatusUnprocessableEntity, http.StatusLocked:
		return login
	case http.StatusNotFound, http.StatusGone:
		return !login
	}
	return false
}

// RetryAfter parses the header of an answer: seconds, or a date relative to the answer's own Date (rule D4). 0:
// none. The result may exceed any reasonable wait.
func RetryAfter(h http.Header) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseFloat(v, 64); err == nil {
		return time.Duration(min(max(0, n), mostAsked.Seconds()) * float64(time.Second))
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return min(max(0, at.Sub(date)), mostAsked)
}

// mostAsked bounds a Retry-After.
const mostAsked = 365 * 24 * time.Hour
