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
	"opdeck/internal/system/listen"
)

// ServeHTTP answers one delivery. The answers say nothing about the reason:
//
//	200 durable, or known already      401 not authenticated, whatever the reason
//	400 no body, or one that broke off 403 not through the proxy
//	404, 405 another path or method    408, 413 too slow, too large
//	415 no delivery can be found in it
//	503 with Retry-After: too much at once, or it cannot be stored
//
// Nothing is held for a sender before its body is there: a slot is taken for
// verifying and storing only.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.stats.count(func(c *Counters) { c.Requests++ })
	from, through := sender(req, r.opt.Proxies)
	body, no := r.read(w, req, from, through)
	if no == nil {
		listen.Working(req.Context())
		var res Result
		if res, no = r.handle(req, body, from); no == nil {
			answerWith(w, http.StatusOK, string(res.Outcome))
			return
		}
	}
	switch no.Status {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.Itoa(int((r.opt.RetryAfter+time.Second-1)/time.Second)))
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	case http.StatusBadRequest, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge:
		w.Header().Set("Connection", "close")
	}
	answerWith(w, no.Status, http.StatusText(no.Status))
	r.reject(req, from, body, no)
}

func answerWith(w http.ResponseWriter, code int, line string) {
	h, v := w.Header(), [...]string{"text/plain; charset=utf-8", "nosniff", "no-store"}
	h["Content-Type"], h["X-Content-Type-Options"], h["Cache-Control"] = v[0:1:1], v[1:2:2], v[2:3:3]
	w.WriteHeader(code)
	_, _ = io.WriteString(w, strings.ToLower(line)+"\n")
}

// read returns the body of a delivery that passes the first checks.
func (r *Receiver) read(w http.ResponseWriter, req *http.Request, from netip.Addr, through bool) ([]byte, *Rejection) {
	switch {
	case req.URL.EscapedPath() != r.opt.Path:
		return nil, &Rejection{Status: http.StatusNotFound, Reason: reasonPath,
			Detail: "It was sent to another path: [webhooks] path is " + r.opt.Path + "."}
	case req.Method != http.MethodPost:
		return nil, &Rejection{Status: http.StatusMethodNotAllowed, Reason: reasonMethod,
			Detail: "Deliveries must be POST requests."}
	case !through:
		return nil, &Rejection{Status: http.StatusForbidden, Reason: "not_by_proxy",
			Detail: "It did not come through the proxy on this host, as [webhooks] behind_proxy requires."}
	case !r.bounds.allow(listen.SourceOf(from), r.opt.Now()):
		return nil, tooMany("One source sends more per second than the receiver accepts.")
	}
	return r.body(w, req)
}

// handle verifies and stores a body.
func (r *Receiver) handle(req *http.Request, body []byte, from netip.Addr) (Result, *Rejection) {
	source, now := listen.SourceOf(from), r.opt.Now()
	if !r.bounds.acquire(source, now) {
		return Result{}, tooMany("Too many deliveries were being processed at the same time.")
	}
	defer r.bounds.release(source)
	verdict, no := r.authenticate(req, body, from, now)
	if no != nil {
		return Result{}, no
	}
	// The rows are stored even if the sender disconnects now: its retry is a duplicate.
	return r.acceptAll(context.WithoutCancel(req.Context()), req.Header, delivery{
		body: body, verdict: verdict, source: Source(from.String()), at: now})
}

// acceptAll stores the deliveries in a body. It refuses a body without any, so that the sender retries; and a batch
// with a token older than the rules allow, because its first body is not known.
func (r *Receiver) acceptAll(ctx context.Context, h http.Header, whole delivery) (Result, *Rejection) {
	bodies, err := hook.Parts(whole.body, h.Get("Content-Type"), strings.Join(h.Values("Content-Encoding"), ","),
		MaxUnpacked)
	if err != nil {
		return Result{}, &Rejection{Status: http.StatusUnsupportedMediaType, Reason: reasonUnreadable,
			Detail: err.Error() + " opdeck answered that it was not accepted."}
	}
	reused := unauthorized(&hook.AuthError{Reason: hook.ReasonTokenReused, Detail: hook.TokenReused})
	if len(bodies) > 1 && whole.verdict.Token != nil && whole.verdict.Token.Late {
		return Result{}, reused
	}
	var first Result
	for i, body := range bodies {
		d := whole
		if d.body = body; i > 0 {
			d.verdict.Token = nil // the first one stores it
		}
		res, err := r.accept(ctx, d)
		switch {
		case err != nil:
			return Result{}, &Rejection{Status: http.StatusServiceUnavailable, Reason: reasonNotStored,
				Detail: "It could not be stored in time; the log says why. The sender was asked to retry."}
		case res.Outcome == OutcomeReused:
			return Result{}, reused
		case i == 0:
			first = res
		}
	}
	return first, nil
}

func tooMany(why string) *Rejection {
	return &Rejection{Status: http.StatusServiceUnavailable, Reason: reasonTooMany,
		Detail: why + " The sender was asked to retry."}
}

// trusted is the largest declared size for which memory is allocated in advance.
const trusted = 16 << 10

// body reads at most MaxBody bytes within BodyTimeout.
func (r *Receiver) body(w http.ResponseWriter, req *http.Request) ([]byte, *Rejection) {
	if req.ContentLength > MaxBody {
		return nil, bodyError(&http.MaxBytesError{Limit: MaxBody})
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(r.opt.BodyTimeout)) // fails only for a recorder in a test
	limited := http.MaxBytesReader(w, req.Body, MaxBody)
	if n := req.ContentLength; n > 0 && n <= trusted {
		body := make([]byte, n)
		got, err := io.ReadFull(limited, body)
		return body[:got], bodyError(err)
	}
	body, err := io.ReadAll(limited)
	if err == nil && len(body) == 0 {
		return nil, &Rejection{Status: http.StatusBadRequest, Reason: "empty", Detail: "The request has no body."}
	}
	return body, bodyError(err)
}

func bodyError(err error) *Rejection {
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return &Rejection{Status: http.StatusRequestEntityTooLarge, Reason: "too_large",
			Detail: "The body is larger than " + strconv.Itoa(MaxBody) + " bytes."}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Rejection{Status: http.StatusRequestTimeout, Reason: "too_slow", Detail: "The body did not arrive in time."}
	}
	return &Rejection{Status: http.StatusBadRequest, Reason: "cut_off", Detail: "The body was cut off."}
}

func (r *Receiver) authenticate(
	req *http.Request, body []byte, from netip.Addr, now time.Time,
) (hook.Verdict, *Rejection) {
	if r.opt.Verifier == nil {
		return hook.Verdict{}, unauthorized(&hook.AuthError{Reason: "no_verifier",
			Detail: "This receiver accepts nothing from the network."})
	}
	v, err := r.opt.Verifier.Verify(hook.Delivery{
		Header: req.Header, Body: body, Loopback: len(r.opt.Proxies) == 0 && from.IsLoopback() && local(req), At: now})
	if err != nil {
		var a *hook.AuthError
		if !errors.As(err, &a) {
			a = &hook.AuthError{Reason: "other"}
		}
		return v, unauthorized(a)
	}
	if v.OldSecret {
		r.stats.count(func(c *Counters) { c.OldSecret++ })
		if n, ok := r.lines.Allow(from.String(), "old secret", now); ok {
			r.opt.Log.Info("webhook authenticated with the old secret", "source", from.String(), "held_back", n)
		}
	}
	return v, nil
}

// sender returns the address that a request comes from; ok is false if it bypassed the proxy.
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

// local reports whether a request really comes from this host: not through a proxy, and not from a web page in this
// host's browser.
func local(req *http.Request) bool {
	for _, h := range []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "Via", "Origin", "Sec-Fetch-Site"} {
		if _, there := req.Header[h]; there {
			return false
		}
	}
	return isLoopbackHost(req.Host)
}
