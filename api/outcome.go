package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// What became of a write is told with proof only (docs/outcomes.md):
//
//	done      the answer shows the wanted state
//	refused   the service said no, in its own words or by a documented status
//	not sent  nothing left: no slot, no session, no connection
//	unknown   everything else; reads settle it
//
// decide says which of them an answer proves by itself. It reads nothing else
// and knows nothing of time. The error is nil for Done alone.
func decide(p Probe, op string, a answer, way error) (Outcome, error) {
	out := Outcome{Status: a.status, RequestID: a.id}
	e := AsError(way)
	set := func(v Verdict, e *Error) (Outcome, error) {
		out.Verdict, out.Rule = v, e.Rule
		if out.Detail = e.Public; v == Unclear {
			out.Rule = ""
		}
		return out, e
	}
	switch {
	case a.status == 0 && !a.sent:
		return set(Failed, orInternal(op, e))
	case a.status == 0 || a.err != nil:
		return set(Unclear, orInternal(op, e))
	case a.status == http.StatusUnauthorized: // says that the call was not processed (docs/session.md)
		return set(Denied, orInternal(op, e))
	}
	body := replyOf(a.body)
	proof := a.status >= 200 && a.status < 300 && p.shown(body, true)
	words, no := body.refusal(p.Kind, a.status)
	no = no || documented(p.Kind, a.status) && len(bytes.TrimSpace(a.body)) == 0
	switch {
	case body.contrary(p.Kind, proof, no), !proof && !no:
		return set(Unclear, unproven(op, a, words))
	case proof:
		out.Verdict, out.After = Done, HashHex(a.body)
		return out, nil
	}
	return set(Denied, refusalOf(p.Kind, op, a, body, words))
}

func orInternal(op string, e *Error) *Error {
	if e == nil {
		e = &Error{Op: op, Kind: Internal, Public: "There was no usable answer."}
	}
	return e
}

// unproven words an answer that proves neither.
func unproven(op string, a answer, words string) *Error {
	e := &Error{Op: op, Kind: Unavailable, Status: a.status, RequestID: a.id,
		Public: fmt.Sprintf("The answer (%d) does not tell whether it was done.", a.status)}
	if words != "" {
		e.Public += " It says: " + words
	}
	return e
}

// refusalOf words a refusal.
func refusalOf(kind ActKind, op string, a answer, body reply, words string) *Error {
	e := Classify(op, a.status, a.body)
	e.RequestID = a.id
	switch {
	case kind == ActShare && body.says("applied", false) && !documented(kind, a.status):
		if words == "" {
			words = "The service gave no reason."
		}
		e.Kind, e.Rule, e.Public, e.Hint = Refused, RuleRejected, words, "Nothing was changed; it can be tried again with a corrected token."
	case sessionOver.MatchString(words):
		e.Kind, e.Rule, e.Hint = AuthFailed, "", "Nothing was changed. opdeck session status tells why; opdeck session login makes a new session."
	case kind == ActShare && a.status == http.StatusForbidden && (body != nil || len(bytes.TrimSpace(a.body)) == 0):
		e.Rule = RuleBaaS // a page in HTML is not the service's
	case kind == ActShare && a.status == http.StatusConflict:
		e.Rule = RuleShared
	case e.Rule != "":
	case a.status < 400 || a.status >= 500:
		e.Kind, e.Public, e.Hint = Refused, "The service refused this.", "Nothing was changed."
		if words != "" {
			e.Public += " It says: " + words
		}
	}
	return e
}

// reply is the body of an answer, whatever its content type; nil when it is no
// JSON object. Names are in lower case.
type reply map[string]json.RawMessage

func replyOf(b []byte) reply {
	var m map[string]json.RawMessage
	if json.Unmarshal(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), &m) != nil {
		return nil
	}
	r := make(reply, len(m))
	for k, v := range m {
		r[strings.ToLower(k)] = v
	}
	return r
}

// wrappers are names under which services put what they answer with.
var wrappers = []string{"item", "data", "result", "document", "file", "application", "parameters"}

// inside lists the object itself and the objects that it wraps.
func (r reply) inside() []reply {
	out := []reply{r}
	for _, w := range wrappers {
		if in := replyOf(r[w]); len(in) > 0 {
			out = append(out, in)
		}
	}
	return out
}

// says reports whether a field of the object, or of one that it wraps, is the
// boolean want; a boolean in text, or 1 and 0, count.
func (r reply) says(name string, want bool) bool {
	for _, o := range r.inside() {
		if is, known := boolean(o[name]); known && is == want {
			return true
		}
	}
	return false
}

func boolean(raw json.RawMessage) (is, known bool) {
	switch strings.ToLower(strings.Trim(string(bytes.TrimSpace(raw)), `"`)) {
	case "true", "1":
		return true, true
	case "false", "0":
		return false, true
	}
	return false, false
}

// fails reports whether the answer holds an error, with or without words.
func (r reply) fails() bool {
	for _, k := range []string{"error", "errors"} {
		switch string(bytes.TrimSpace(r[k])) {
		case "", "null", "false", `""`, "{}", "[]", "0":
		default:
			return true
		}
	}
	return false
}

// contrary reports that an answer contradicts itself: it shows the wanted state,
// or an object, and fails or refuses at once.
func (r reply) contrary(kind ActKind, proof, no bool) bool {
	object := len(replyOf(r["item"])) > 0 || r.says("success", true) || kind == ActShare && r.says("applied", true)
	flagged := r.fails() || r.says("success", false) || kind == ActShare && r.says("applied", false)
	return proof && (no || flagged) || object && flagged
}

// never lists the statuses that say nothing about the write: the call ran out of
// time, was throttled, or something between us and the service answered.
func never(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, 499,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return status < 200 || status >= 300 && status < 400
}

// documented lists the statuses that the service's documents give for an act:
// they are a no without words (spec, Errors), with an object as a body or none. A
// page is somebody else's answer.
func documented(kind ActKind, status int) bool {
	return kind == ActShare && (status == http.StatusConflict || status == http.StatusForbidden)
}

// trouble is what transports and gateways say: such words are no refusal, since
// the write may be done all the same.
var trouble = regexp.MustCompile(`(?i)time[d]?[ -]?out|deadline|unavailable|upstream|gateway|internal[ _-](server[ _-])?error|(try|retry) (it )?(again|later)|please retry|` +
	`connection|overload|temporar|bad response|no healthy|network|socket|broken pipe|unexpected eof|cancell?ed by|context cancell?ed|too many requests|rate limit|throttl|maintenance|` +
	`server error|something went wrong|unexpected error|unknown error|could not be processed in time|request aborted`)

// refusal reports whether the answer is the service's own no, and its words.
func (r reply) refusal(kind ActKind, status int) (words string, no bool) {
	flagged := r.says("success", false) || r.says("applied", false)
	strong := r.words("error", "errors")
	words = strong
	if words == "" {
		words = r.words("message", "detail", "description", "reason", "title")
	}
	switch {
	case never(status):
		return words, false
	case knownMessage(words):
		return words, true
	case status >= 500:
		return words, false
	case kind == ActShare && status < 400 && r.says("applied", false): // spec, Share rule 4, whatever the reason
		return words, true
	case trouble.MatchString(words):
		return words, false
	case r != nil && documented(kind, status), flagged:
		return words, true
	case status >= 400:
		return words, words != ""
	}
	return words, strong != ""
}

// words is the first sentence under one of the names, safe to draw; in objects
// and lists it is looked for further down.
func (r reply) words(names ...string) string {
	for _, n := range names {
		if s := sentenceIn(r[n], 3); s != "" {
			return safeLine(Scrub(s), 300)
		}
	}
	return ""
}

func sentenceIn(raw json.RawMessage, deep int) string {
	var s string
	if len(raw) == 0 || deep == 0 {
		return ""
	}
	if json.Unmarshal(raw, &s) == nil {
		return strings.TrimSpace(s)
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		for _, it := range list[:min(len(list), 5)] {
			if s := sentenceIn(it, deep-1); s != "" {
				return s
			}
		}
		return ""
	}
	in := replyOf(raw)
	for _, k := range []string{"error", "message", "detail", "description", "reason", "title"} {
		if s := sentenceIn(in[k], deep-1); s != "" {
			return s
		}
	}
	return ""
}
