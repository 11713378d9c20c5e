package session

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"opdeck/api/jsontree"
	"opdeck/api/limit"
	"opdeck/api/reach"
)

// read classifies an answer (rules D1, D3, D4, D6, D7) and names its fault. raw is its body, complete if broken is nil;
// of is the request.
func (a *answer) read(resp *http.Response, raw []byte, broken error, of request) {
	text := a.classify(resp, raw, broken, of)
	switch {
	case a.outcome == Unreadable, broken == nil && len(raw) <= maxAnswer:
		a.fault = a.faultOf(resp, text, of)
	case broken != nil:
		a.fault = reach.OfError(broken, true, time.Now())
	default:
		a.fault = reach.Fault{Class: reach.TooLong, Status: a.status}
	}
}

// classify sets the outcome and returns the answer's text.
func (a *answer) classify(resp *http.Response, raw []byte, broken error, of request) []byte {
	code := resp.StatusCode
	text, unpacked := jsontree.Unpack(raw, resp.Header.Get("Content-Encoding"), maxAnswer)
	if code/100 == 2 {
		switch age := resp.Header.Get("Age"); {
		case broken != nil:
			a.unread(of, brokenOff(raw, broken), "")
		case len(raw) > maxAnswer:
			a.unread(of, "it is longer than any answer to a login"+beginning(text), "")
		case age != "" && age != "0":
			a.unread(of, "it comes from a cache", "")
		case unpacked != nil:
			a.unread(of, coded(resp.Header.Get("Content-Encoding"), unpacked), "")
		default:
			a.readGood(text, of)
		}
		return text
	}
	if a.retryAfter = min(RetryAfter(resp.Header), MaxBackoff); code == http.StatusTooManyRequests {
		a.outcome = Throttled
		a.retryAfter = limit.HoldFor(RetryAfter(resp.Header))
	} else if broken == nil && len(raw) <= maxAnswer && code/100 != 3 {
		a.readWords(code, text, of.kind == ByLogin)
	}
	return text
}

// readGood classifies a complete answer with a good status.
func (a *answer) readGood(text []byte, of request) {
	tree, err := jsontree.Parse(text)
	if err != nil {
		if a.readWords(http.StatusOK, text, of.kind == ByLogin); a.outcome == Unknown {
			a.unread(of, notJSON(text), "")
		}
		return
	}
	v := tree.Root()
	seen, key := a.readPair(v, of.names)
	if seen == "" {
		return
	}
	words := parseErrorAnswer(text)
	if access, _, _, _ := of.names.pairIn(v); access == "" && !words.success {
		if a.readWords(http.StatusOK, text, of.kind == ByLogin); a.outcome != Unknown {
			return
		}
	}
	if words.object && !words.isData && words.quote != "" {
		seen, key = "it says "+sketch([]byte(words.quote)), ""
	} else {
		seen += "; it contains " + keysOf(v)
	}
	a.unread(of, seen, key)
}

// unread is a good status without a pair that can be read. A login may have made one all the same, and the next one
// would end it, and every other client's session: it is Unreadable.
func (a *answer) unread(of request, seen, key string) {
	a.seen, a.key = seen, key
	if a.outcome = Unknown; of.kind == ByLogin {
		a.outcome = Unreadable
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
	case login && refusal(code, login):
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
