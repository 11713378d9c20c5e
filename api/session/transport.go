package session

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"opdeck/api/reach"
	"time"
)

// NewAuthTransport returns the transport for logins and refreshes, which sends each request at most once (rule H1):
// HTTP/1.1 only and without keep-alive, because net/http silently repeats a GET that fails on a reused connection,
// and up to eight times over HTTP/2. If the service refuses HTTP/1.1 in the handshake, it uses HTTP/2: without
// keep-alive, and with the bodies of this package, which cannot be rewound, that too sends once. tlsConfig may be
// nil; it is copied, with TLS 1.2 as the minimum. change, if not nil, sets proxy or dialer.
func NewAuthTransport(tlsConfig *tls.Config, change func(*http.Transport)) http.RoundTripper {
	t := authTransport{first: newTransport(tlsConfig, false), second: newTransport(tlsConfig, true)}
	if change != nil {
		change(t.first)
		change(t.second)
	}
	return t
}

type authTransport struct{ first, second *http.Transport }

// RoundTrip implements http.RoundTripper.
func (t authTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	refused := false // by a handshake alert: nothing was sent
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			var alert *net.OpError
			refused = errors.As(err, &alert) && alert.Op == "remote error"
		}})
	resp, err := t.first.RoundTrip(r.WithContext(ctx))
	if err == nil || !refused {
		return resp, err
	}
	if other, otherErr := t.second.RoundTrip(r); otherErr == nil || !refusedAlike(otherErr) {
		return other, otherErr
	}
	return nil, err
}

// refusedAlike reports whether the handshake failed over HTTP/2 too.
func refusedAlike(err error) bool {
	return reach.OfError(err, false, time.Now()).Permanent()
}

func newTransport(tlsConfig *tls.Config, http2 bool) *http.Transport {
	cfg := tlsConfig.Clone()
	if cfg == nil {
		cfg = &tls.Config{}
	}
	cfg.MinVersion = max(cfg.MinVersion, tls.VersionTLS12)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	cfg.NextProtos = []string{"http/1.1"}
	if http2 {
		cfg.NextProtos = []string{"h2"}
	}
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: 8 * time.Second}).DialContext,
		TLSClientConfig:        cfg,
		TLSHandshakeTimeout:    8 * time.Second,
		Protocols:              protocols,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
	}
}
