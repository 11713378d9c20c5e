package receiver

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"opdeck/api/hook"
	"opdeck/api/untrusted"
)

// Reasons that the code compares; the others are written where they are given.
const (
	reasonPath      = "path"
	reasonMethod    = "method"
	reasonStray     = "stray" // either of these, without anything that could be a proof
	reasonTooMany   = "too_many"
	reasonNotStored = "not_stored"
)

// refusal is why a delivery was not accepted.
type refusal struct {
	code           int
	reason, detail string
	algorithm      string
	claims         []string
}

func unauthorized(a *hook.AuthError) *refusal {
	return &refusal{code: http.StatusUnauthorized, reason: a.Reason, detail: a.Detail, algorithm: a.Algorithm,
		claims: a.Claims}
}

// reject counts a delivery that was not accepted, keeps what may help to find out
// why, and logs it once a minute.
func (r *Receiver) reject(req *http.Request, from netip.Addr, body []byte, no *refusal) {
	switch {
	case no.code == http.StatusUnauthorized:
		r.stats.count(func(c *Counters) { c.Unauthorized++; c.Reasons[no.reason]++ }) // a few fixed words
	case no.reason == reasonTooMany:
		r.stats.count(func(c *Counters) { c.Limited++ })
	case no.code != http.StatusServiceUnavailable:
		r.stats.count(func(c *Counters) { c.Rejected++ })
	}
	if (no.reason == reasonPath || no.reason == reasonMethod) && req.Header.Get(r.opt.Header) == "" {
		no.reason = reasonStray
	}
	now := r.opt.Now().UTC()
	x := Rejection{At: now, Status: no.code, Reason: no.reason, Detail: no.detail, Source: Source(from.String()),
		Algorithm: no.algorithm, Claims: no.claims}
	if !from.IsValid() {
		x.Source = "unknown"
	}
	busy := no.code == http.StatusServiceUnavailable // the sender comes again: nothing to inspect
	if !busy {
		x.Request, x.Header = untrusted.Text(req.Method+" "+req.URL.EscapedPath()).Line(maxHeaderValue),
			safeHeader(req, r.opt.Header)
		x.Size = int64(len(body))
		x.Body = slices.Clone(body[:min(len(body), MaxRejectedBody)])
	}
	r.rejects.add(x, !busy)
	if no.reason == reasonNotStored {
		return // logged where it failed
	}
	if n, ok := r.lines.Allow(sourceOf(from).String(), no.reason, now); ok {
		r.opt.Log.Warn("webhook rejected", "reason", no.reason, "status", no.code, "source", string(x.Source), "detail",
			no.detail, "held_back", n)
	}
}

const (
	maxHeaderFields = 40
	maxHeaderValue  = 200 // characters of a value
)

// harmless are the names whose values are kept: none of them proves anything.
var harmless = []string{"Accept", "Accept-Encoding", "Content-Encoding", "Content-Length", "Content-Type", "Date",
	"Expect", "Transfer-Encoding", "User-Agent", "Via", "Webhook-Id", "Webhook-Timestamp", "X-Forwarded-For",
	"X-Forwarded-Proto", "X-Request-Id"}

// safeHeader is a request's header without what may be a secret: the values of
// all names but the harmless ones are left out, and so is what looks like a token
// anywhere. proof is the name whose value is left out in any case.
func safeHeader(req *http.Request, proof string) []HeaderField {
	out := []HeaderField{{"Host", untrusted.Text(req.Host).Line(maxHeaderValue)}}
	names := make([]string, 0, len(req.Header))
	for name := range req.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, v := range req.Header[name] {
			if len(out) == maxHeaderFields {
				return out
			}
			if !slices.Contains(harmless, name) || strings.EqualFold(name, proof) || strings.Contains(v, "eyJ") {
				v = Redacted
			}
			out = append(out, HeaderField{untrusted.Text(name).Line(60), untrusted.Text(v).Line(maxHeaderValue)})
		}
	}
	return out
}
