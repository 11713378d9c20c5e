package receiver

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"opdeck/api/hook"
	"opdeck/api/untrusted"
	"opdeck/internal/system/listen"
)

// ServeHTTP answers one delivery. The answers say nothing about the reason:
//
//	200 durable, or known already      401 not authenticated, whatever the reason
//	400 no body, or one that broke off 403 not through the proxy
//	404, 405 another path or method    408, 413 too slow, too large
//	415 a content coding
//	503 with Retry-After: too much at once, or it cannot be stored
//
// Nothing is held for a sender before its body is there: a place is taken for verifying and storing only.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	from, through := sender(req, r.opt.Proxies)
	body, no := r.read(w, req, through)
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
		w.Header().Set("Retry-After", "5")
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	case http.StatusBadRequest, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge:
		w.Header().Set("Connection", "close")
	}
	answerWith(w, no.Status, http.StatusText(no.Status))
	r.reject(req, from, body, no)
}

func answerWith(w http.ResponseWriter, code int, line string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, strings.ToLower(line)+"\n")
}

// read returns the body of a delivery that passes the first checks.
func (r *Receiver) read(w http.ResponseWriter, req *http.Request, through bool) ([]byte, *Rejection) {
	switch coding := req.Header.Get("Content-Encoding"); {
	case req.URL.EscapedPath() != r.opt.Path:
		return nil, &Rejection{Status: http.StatusNotFound, Reason: reasonPath,
			Detail: "It was sent to another path: [webhooks] path is " + r.opt.Path + "."}
	case req.Method != http.MethodPost:
		return nil, &Rejection{Status: http.StatusMethodNotAllowed, Reason: reasonMethod,
			Detail: "Deliveries must be POST requests."}
	case !through:
		return nil, &Rejection{Status: http.StatusForbidden, Reason: "not_by_proxy",
			Detail: "It did not come through the proxy on this host, as [webhooks] behind_proxy requires."}
	case coding != "" && !strings.EqualFold(coding, "identity"):
		return nil, &Rejection{Status: http.StatusUnsupportedMediaType, Reason: "coding", Detail: "Its body has the " +
			"content coding " + untrusted.Text(coding).Line(40) + "; the service's webhooks are plain JSON."}
	}
	return r.body(w, req)
}

// handle verifies and stores a body.
func (r *Receiver) handle(req *http.Request, body []byte, from netip.Addr) (Result, *Rejection) {
	select {
	case r.places <- struct{}{}:
		defer func() { <-r.places }()
	default:
		return Result{}, &Rejection{Status: http.StatusServiceUnavailable, Reason: reasonTooMany,
			Detail: "Too many deliveries were being processed at the same time. The sender was asked to retry."}
	}
	now := r.opt.Now()
	verdict, no := r.authenticate(req, body, from, now)
	if no != nil {
		return Result{}, no
	}
	// The row is stored even if the sender disconnects now: its retry is a duplicate.
	res, err := r.store(context.WithoutCancel(req.Context()), recordOf(body, verdict, Source(from.String()), now))
	switch {
	case err != nil:
		return res, &Rejection{Status: http.StatusServiceUnavailable, Reason: reasonNotStored,
			Detail: "It could not be stored in time; the log says why. The sender was asked to retry."}
	case res.Outcome == OutcomeReused:
		return res, unauthorized(&hook.AuthError{Reason: hook.ReasonTokenReused, Detail: hook.TokenReused})
	}
	return res, nil
}

// body reads at most MaxBody bytes within BodyTimeout.
func (r *Receiver) body(w http.ResponseWriter, req *http.Request) ([]byte, *Rejection) {
	tooLarge := &Rejection{Status: http.StatusRequestEntityTooLarge, Reason: "too_large",
		Detail: "The body is larger than " + strconv.Itoa(MaxBody) + " bytes."}
	if req.ContentLength > MaxBody {
		return nil, tooLarge
	}
	// fails only for a recorder in a test
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(r.opt.BodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return body, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return body, &Rejection{Status: http.StatusRequestTimeout, Reason: "too_slow",
			Detail: "The body did not arrive in time."}
	case err != nil, int64(len(body)) < req.ContentLength:
		return body, &Rejection{Status: http.StatusBadRequest, Reason: "cut_off", Detail: "The body was cut off."}
	case len(body) == 0:
		return nil, &Rejection{Status: http.StatusBadRequest, Reason: "empty", Detail: "The request has no body."}
	}
	return body, nil
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

// ServerOptions say where to listen. Zero fields mean the defaults below.
type ServerOptions struct {
	Listen string      // "127.0.0.1:8788"
	TLS    *tls.Config // nil: plain HTTP, for loopback or behind the proxy of Options.Proxies

	MaxConns      int           // listen.MaxConns
	HeaderTimeout time.Duration // 5 s
	IdleTimeout   time.Duration // 60 s
}

const maxHeader = 16 << 10 // bytes; net/http adds 4 KiB

// Server serves a receiver on the network.
type Server struct {
	http     *http.Server
	listener net.Listener
	conns    listen.Conns
}

// Listen opens the port. Without TLS it must be a loopback address, unless a proxy is configured; with verify =
// "none" always.
func Listen(ctx context.Context, r *Receiver, opt ServerOptions) (*Server, error) {
	opt.HeaderTimeout, opt.IdleTimeout = cmp.Or(opt.HeaderTimeout, 5*time.Second), cmp.Or(opt.IdleTimeout, 60*time.Second)
	if err := allowed(r, opt); err != nil {
		return nil, err
	}
	l, err := listen.Open(ctx, "webhooks", opt.Listen)
	if err != nil {
		return nil, err
	}
	if opt.TLS != nil {
		c := opt.TLS.Clone()
		c.NextProtos = []string{"http/1.1"}
		c.MinVersion = max(c.MinVersion, tls.VersionTLS12)
		l = tls.NewListener(l, c)
	}
	s := &Server{listener: l, conns: listen.Conns{Max: opt.MaxConns}}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	s.http = &http.Server{
		Handler: r, Protocols: protocols, MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: opt.HeaderTimeout, ReadTimeout: opt.HeaderTimeout + r.opt.BodyTimeout,
		WriteTimeout: opt.HeaderTimeout + r.opt.BodyTimeout + r.opt.StoreTimeout + 5*time.Second,
		IdleTimeout:  opt.IdleTimeout,
		ErrorLog:     slog.NewLogLogger(r.opt.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

func allowed(r *Receiver, opt ServerOptions) error {
	host, _, err := net.SplitHostPort(opt.Listen)
	if err != nil {
		return fmt.Errorf("webhooks: listen = %q is not an address; write it like 127.0.0.1:8788", opt.Listen)
	}
	switch {
	case r.opt.Verifier == nil:
		return errors.New("webhooks: no verifier is configured")
	case isLoopbackHost(host):
		return nil
	case r.opt.Verifier.Name() == hook.VerifyNone:
		return fmt.Errorf("webhooks: verify = \"none\" listens on loopback only, not on %q", opt.Listen)
	case opt.TLS == nil && len(r.opt.Proxies) == 0:
		return fmt.Errorf("webhooks: %q is open to others and has no TLS; listen on 127.0.0.1, or name the proxy in front",
			opt.Listen)
	}
	return nil
}

// isLoopbackHost reports whether a host, with or without a port, is this one by name or address.
func isLoopbackHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// Addr is the address of the server.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve serves until ctx ends, then gives running requests five seconds, and returns nil. The receiver stays open.
func (s *Server) Serve(ctx context.Context) error {
	return listen.Serve(ctx, "webhooks", s.http, s.listener, &s.conns, 5*time.Second)
}

// Reasons that the code compares; the others are literals.
const (
	reasonPath      = "path"
	reasonMethod    = "method"
	reasonStray     = "stray" // path or method, without any proof
	reasonTooMany   = "too_many"
	reasonNotStored = "not_stored"
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
	case no.Reason == reasonTooMany:
		r.limited.Add(1)
	case no.Status != http.StatusServiceUnavailable:
		r.rejected.Add(1)
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
