package receiver

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"opdeck/api/hook"
	"opdeck/api/untrusted"
)

// Reasons that the code compares; the others are literals.
const (
	reasonPath       = "path"
	reasonMethod     = "method"
	reasonStray      = "stray" // path or method, without any proof
	reasonTooMany    = "too_many"
	reasonNotStored  = "not_stored"
	reasonUnreadable = "unreadable"
)

func unauthorized(a *hook.AuthError) *Rejection {
	return &Rejection{Status: http.StatusUnauthorized, Reason: a.Reason, Detail: a.Detail, Algorithm: a.Algorithm,
		Claims: a.Claims}
}

// reject counts a rejected delivery, stores what helps to find the cause, and logs each reason once a minute. no
// has the status and the reason; reject fills in the rest.
func (r *Receiver) reject(req *http.Request, from netip.Addr, body []byte, no *Rejection) {
	switch {
	case no.Status == http.StatusUnauthorized:
		r.stats.count(func(c *Counters) { c.Unauthorized++; c.Reasons[no.Reason]++ }) // a few fixed words
	case no.Reason == reasonTooMany:
		r.stats.count(func(c *Counters) { c.Limited++ })
	case no.Status != http.StatusServiceUnavailable:
		r.stats.count(func(c *Counters) { c.Rejected++ })
	}
	if (no.Reason == reasonPath || no.Reason == reasonMethod) && req.Header.Get(r.opt.Header) == "" {
		no.Reason = reasonStray
	}
	no.At, no.Source = r.opt.Now().UTC(), "unknown"
	if from.IsValid() {
		no.Source = Source(from.String())
	}
	busy := no.Status == http.StatusServiceUnavailable // the sender retries: nothing to inspect
	if !busy {
		no.Request = untrusted.Text(req.Method + " " + req.URL.EscapedPath()).Line(maxHeaderValue)
		no.Header = safeHeader(req, r.opt.Header)
		no.Size = int64(len(body))
		no.Body = slices.Clone(body[:min(len(body), MaxRejectedBody)])
	}
	r.rejects.add(*no, !busy)
	if no.Reason == reasonNotStored {
		return // already logged
	}
	if n, ok := r.lines.Allow("", no.Reason, no.At); ok {
		r.opt.Log.Warn("webhook rejected", "reason", no.Reason, "status", no.Status, "source", string(no.Source), "detail",
			no.Detail, "held_back", n)
	}
}

const (
	maxHeaderFields = 40
	maxHeaderValue  = 200 // characters per value
)

// harmless are the names whose values are stored: none is a proof.
var harmless = []string{"Accept", "Accept-Encoding", "Content-Encoding", "Content-Length", "Content-Type", "Date",
	"Expect", "Transfer-Encoding", "User-Agent", "Via", "Webhook-Id", "Webhook-Timestamp", "X-Forwarded-For",
	"X-Forwarded-Proto", "X-Request-Id"}

// safeHeader is a request's header without anything that may be secret: it keeps only the values of harmless names,
// and removes anything like a token. The value of proof is always removed.
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
