package receiver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"opdeck/api/hook"
)

// ServeHTTP answers one delivery. The answers say nothing about the reason:
//
//	200 durable, or known already      401 not authenticated, whatever the reason
//	400 no body, or one that broke off 403 not through the proxy
//	404, 405 another path or method    408, 413 too slow, too large
//	503 with Retry-After: too much at once, or it cannot be stored
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.stats.requests.Add(1)
	code, res := r.take(w, req)
	switch {
	case code == http.StatusOK:
		say(w, code, string(res.Outcome))
		return
	case code == http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.Itoa(int((r.opt.RetryAfter+time.Second-1)/time.Second)))
	case code == http.StatusUnauthorized:
	default:
		r.stats.rejected.Add(1)
	}
	say(w, code, http.StatusText(code))
}

func say(w http.ResponseWriter, code int, line string) {
	h, v := w.Header(), [...]string{"text/plain; charset=utf-8", "nosniff", "no-store"}
	h["Content-Type"], h["X-Content-Type-Options"], h["Cache-Control"] = v[0:1:1], v[1:2:2], v[2:3:3]
	w.WriteHeader(code)
	_, _ = io.WriteString(w, strings.ToLower(line)+"\n")
}

func (r *Receiver) take(w http.ResponseWriter, req *http.Request) (code int, res Result) {
	if req.URL.EscapedPath() != r.opt.Path {
		return http.StatusNotFound, res
	}
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed, res
	}
	from, ok := sender(req, r.opt.Proxies)
	if !ok {
		return http.StatusForbidden, res
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	default:
		r.stats.limited.Add(1)
		return http.StatusServiceUnavailable, res
	}
	now := r.opt.Now()
	if !r.buckets.take(from, now) {
		r.stats.limited.Add(1)
		return http.StatusServiceUnavailable, res
	}
	body, code := r.body(w, req)
	if code != 0 {
		return code, res
	}
	verdict, ok := r.authenticate(req, body, from, now)
	if !ok {
		return http.StatusUnauthorized, res
	}
	// The row stays when the sender leaves now: its next try is a duplicate.
	res, err := r.accept(context.WithoutCancel(req.Context()), delivery{
		body: body, verdict: verdict, source: Source(from.String()), at: now, encoded: encoded(req.Header)})
	if err != nil {
		return http.StatusServiceUnavailable, res
	}
	return http.StatusOK, res
}

// trusted is how large a body may call itself before memory is set aside for it.
const trusted = 16 << 10

// body reads at most MaxBody bytes within BodyTimeout; code is 0 when it did.
func (r *Receiver) body(w http.ResponseWriter, req *http.Request) (body []byte, code int) {
	if req.ContentLength > MaxBody {
		w.Header().Set("Connection", "close")
		return nil, http.StatusRequestEntityTooLarge
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(r.opt.BodyTimeout)) // a recorder in a test has none
	limited := http.MaxBytesReader(w, req.Body, MaxBody)
	if n := req.ContentLength; n > 0 && n <= trusted {
		body = make([]byte, n)
		_, err := io.ReadFull(limited, body)
		return body, bodyError(w, err)
	}
	body, err := io.ReadAll(limited)
	if err == nil && len(body) == 0 {
		return nil, http.StatusBadRequest
	}
	return body, bodyError(w, err)
}

func bodyError(w http.ResponseWriter, err error) int {
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge
	}
	w.Header().Set("Connection", "close")
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return http.StatusRequestTimeout
	}
	return http.StatusBadRequest
}

func (r *Receiver) authenticate(req *http.Request, body []byte, from netip.Addr, now time.Time) (hook.Verdict, bool) {
	if r.opt.Verifier == nil {
		r.stats.deny("no_verifier")
		return hook.Verdict{}, false
	}
	v, err := r.opt.Verifier.Verify(hook.Delivery{
		Header: req.Header, Body: body, Loopback: len(r.opt.Proxies) == 0 && from.IsLoopback() && local(req), At: now})
	if err != nil {
		reason := "other"
		var a *hook.AuthError
		if errors.As(err, &a) {
			reason = a.Reason
		}
		r.stats.deny(reason)
		r.opt.Log.Warn("webhook not authenticated", "reason", reason, "source", from.String())
		return v, false
	}
	if v.OldSecret {
		r.stats.oldSecret.Add(1)
		r.opt.Log.Info("webhook authenticated with the old secret", "source", from.String())
	}
	return v, true
}

// sender returns the address a request comes from; ok is false when it should
// have come through a proxy and did not.
func sender(req *http.Request, proxies []netip.Prefix) (netip.Addr, bool) {
	peer, err := netip.ParseAddrPort(req.RemoteAddr)
	if err != nil {
		return netip.Addr{}, false
	}
	from := peer.Addr().Unmap().WithZone("")
	if len(proxies) == 0 {
		return from, true
	}
	if !inside(from, proxies) {
		return netip.Addr{}, false
	}
	hops := strings.Split(strings.Join(req.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		a, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		if from = a.Unmap().WithZone(""); !inside(from, proxies) {
			break
		}
	}
	return from, true
}

func inside(a netip.Addr, set []netip.Prefix) bool {
	for _, p := range set {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// local reports whether a request from this host is no other's in disguise: not
// passed on by a proxy, and not sent by a web page in this host's browser.
func local(req *http.Request) bool {
	for _, h := range []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "Via", "Origin", "Sec-Fetch-Site"} {
		if _, there := req.Header[h]; there {
			return false
		}
	}
	return isLoopbackHost(req.Host)
}

func encoded(h http.Header) bool {
	e := h.Get("Content-Encoding")
	return e != "" && !strings.EqualFold(e, "identity")
}
