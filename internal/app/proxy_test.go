package app

import (
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"opdeck/api/session"
	"opdeck/internal/app/config"
)

// TestProxy: calls and logins go through the proxy that the config names, and through none of the environment
// that it does not name. No credentials are shown.
func TestProxy(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://stray:hunter2@127.0.0.1:1")
	var tunnels atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user := base64.StdEncoding.EncodeToString([]byte("user:hunter2"))
		if r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") != "Basic "+user {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		tunnels.Add(1)
		there, err := net.Dial("tcp", r.Host)
		if err != nil {
			t.Error(err)
			return
		}
		w.WriteHeader(http.StatusOK)
		here, came, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		go func() { _, _ = io.Copy(there, came); _ = there.Close() }()
		_, _ = io.Copy(here, there)
		_ = here.Close()
	}))
	defer proxy.Close()
	service := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer service.Close()
	conf := service.Client().Transport.(*http.Transport).TLSClientConfig
	at := strings.Replace(proxy.URL, "http://", "http://user:hunter2@", 1)
	for _, c := range []struct {
		proxy, base, name string
		tunnels           int32
	}{
		{"", service.URL, "", 0},
		{at, service.URL, proxy.URL, 2},
		{at, strings.Replace(service.URL, "https", "http", 1), "", 0},
		{config.EnvironmentProxy, "https://service.example", "http://127.0.0.1:1", 0},
	} {
		u, err := outbound(config.Context{BaseURL: c.base, Proxy: c.proxy})
		if err != nil || proxyName(u) != c.name {
			t.Errorf("%s: %q, %v", c.proxy, proxyName(u), err)
		}
		if c.base != service.URL {
			continue
		}
		calls := newTransport(conf.Clone())
		calls.Proxy = through(u)
		logins := session.NewAuthTransport(conf, func(l *http.Transport) { l.Proxy = through(u) })
		tunnels.Store(0)
		for _, rt := range []http.RoundTripper{calls, logins} {
			req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, c.base, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := rt.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
		}
		calls.CloseIdleConnections()
		if tunnels.Load() != c.tunnels {
			t.Errorf("%s: %d connections through the proxy", c.proxy, tunnels.Load())
		}
	}
	if u, _ := url.Parse(at); strings.Contains(proxyName(u), "hunter2") {
		t.Error("credentials are shown")
	}
}
