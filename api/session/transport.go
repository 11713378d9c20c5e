package session

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// NewAuthTransport returns the transport for logins and refreshes, which sends
// each request at most once (rule H1): HTTP/1.1 only and no kept connections,
// because net/http silently repeats a GET that dies on a used connection, and up
// to eight times over HTTP/2. Proxies of the environment are not used, as for API
// calls: passwords and tokens do not go where a stray variable points. tlsConfig may
// be nil; it is copied, and TLS 1.2 is the least.
func NewAuthTransport(tlsConfig *tls.Config) *http.Transport {
	cfg := tlsConfig.Clone()
	if cfg == nil {
		cfg = &tls.Config{}
	}
	cfg.MinVersion = max(cfg.MinVersion, tls.VersionTLS12)
	cfg.NextProtos = []string{"http/1.1"}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
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
