package api

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"regexp"

	"opdeck/api/session"
)

// The outcome of a write is reported only with proof (docs/outcomes.md):
//
//	done      the answer shows the wanted state, or it is a complete 2xx and a read shows the state
//	seen      a read shows the wanted state, and the request has no answer
//	refused   the service said no, in its own words or by a documented status
//	not sent  nothing left: no slot, no session, no connection
//	unknown   everything else; reads settle it
//
// decide returns the outcome that the answer alone proves. The error is nil for Done alone.
func decide(r WriteRule, p Probe, op string, a Answer, way error) (Outcome, error) {
	out := Outcome{Status: a.Status, RequestID: a.RequestID}
	e := AsError(way)
	set := func(v Verdict, e *Error) (Outcome, error) {
		out.Verdict, out.Rule = v, e.Rule
		if out.Detail = e.Public; v == Unclear {
			out.Rule = ""
		}
		return out, e
	}
	switch {
	case a.Status == 0 && !a.sent:
		return set(Failed, orInternal(op, e))
	case a.Status == 0 || a.err != nil:
		return set(Unclear, orInternal(op, e))
	case a.Status == http.StatusUnauthorized: // means that the call was not processed (docs/session.md)
		return set(Denied, orInternal(op, e))
	}
	body := ObjectOf(a.Body)
	proof := a.Status >= 200 && a.Status < 300 && r.Proves(p, body, true)
	words, no := r.refusal(body, a)
	no = no || r.documented(a.Status) && len(bytes.TrimSpace(a.Body)) == 0
	switch {
	case r.contrary(body, proof, no), !proof && !no:
		return set(Unclear, unproven(op, a, words))
	case proof:
		if out.Verdict, out.After = Done, HashHex(a.Body); r.Found != nil {
			out.Found = r.Found(p, body, true)
		}
		return out, nil
	}
	return set(Denied, refusalOf(r, op, a, body, words, refusedHere(way)))
}

func orInternal(op string, e *Error) *Error {
	if e == nil {
		e = &Error{Op: op, Kind: Internal, Public: "The service sent no usable answer."}
	}
	return e
}

// unproven is the error of an answer that proves neither success nor refusal.
func unproven(op string, a Answer, words string) *Error {
	e := &Error{Op: op, Kind: Unavailable, Status: a.Status, RequestID: a.RequestID,
		Public: fmt.Sprintf("The answer (%d) does not say whether it was done.", a.Status)}
	e.Quote(words)
	return e
}

// refusalOf is the error of a refusal; here says that the service accepts the session for other calls.
func refusalOf(r WriteRule, op string, a Answer, body Object, words string, here bool) *Error {
	e := Classify(op, a.Status, a.Body)
	e.RequestID = a.RequestID
	switch {
	case !here && session.Dead(a.Status, a.Body, r.OwnToken):
		e.Kind, e.Rule, e.Remedy = AuthFailed, "", Remedy{Kind: Login}
	case r.Refused != nil && r.Refused(e, words, body, a):
	case e.Rule != "":
	case a.Status < 400 || a.Status >= 500:
		e.Kind, e.Public, e.Remedy = Refused, "The service refused this; nothing was changed.", Remedy{}
		e.Quote(words)
	}
	return e
}

// contrary reports whether an answer contradicts itself: it shows the wanted state or an object, and also fails or
// refuses.
func (r WriteRule) contrary(body Object, proof, no bool) bool {
	thing := ObjectIn(body.Member("item")).Len() > 0 || r.says(body, true)
	flagged := body.Fails() || r.says(body, false)
	return proof && (no || flagged) || thing && flagged
}

// answered reports whether the request has an answer of its own, though it does not show the wanted state: a complete
// 2xx that reports no failure. The request then does not arrive any more. A 202 is for later, and a web page comes from
// a proxy.
func (r WriteRule) answered(a Answer) bool {
	body := ObjectOf(a.Body)
	return a.err == nil && a.Status >= 200 && a.Status < 300 && a.Status != http.StatusAccepted && !body.Fails() &&
		!r.says(body, false) && !bytes.HasPrefix(bytes.TrimSpace(a.Body), []byte("<"))
}

// never reports whether a status says nothing about the write: the call timed out, was throttled, or a proxy
// answered.
func never(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, 499,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return status < 200 || status >= 300 && status < 400
}

// trouble matches messages of transports and gateways. They are no refusal, since the write may still be done.
var trouble = regexp.MustCompile(
	`(?i)time[d]?[ -]?out|deadline|unavailable|upstream|gateway|internal[ _-](server[ _-])?error|` +
		`(try|retry) (it )?(again|later)|please retry|` +
		`connection|overload|temporar|bad response|no healthy|network|socket|broken pipe|unexpected eof|cancell?ed by|` +
		`context cancell?ed|too many requests|rate limit|throttl|maintenance|` +
		`server error|something went wrong|unexpected error|unknown error|could not be processed in time|request aborted`)

// refusal reports whether the answer is the service's own refusal, and its words.
func (r WriteRule) refusal(body Object, a Answer) (words string, no bool) {
	status, strong := a.Status, body.words("error", "errors")
	words = cmp.Or(strong, body.words("message", "detail", "description", "reason", "title"), bareMessage(a.Body))
	switch {
	case never(status):
		return words, false
	case knownMessage(words):
		return words, true
	case status >= 500:
		return words, false
	case r.Flag != "" && status < 400 && body.Says(r.Flag, false): // spec, Share rule 4, whatever the reason
		return words, true
	case trouble.MatchString(words):
		return words, false
	case body.Exists() && r.documented(status), body.Says("success", false), body.Says("applied", false):
		return words, true
	case status >= 400:
		return words, words != ""
	}
	return words, strong != ""
}
