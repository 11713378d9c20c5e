package reach

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"syscall"
	"testing"
	"time"

	"opdeck/api/jsontree"
)

// TestErrorsOfRealExchanges: each failure of a real connection gets its class.
func TestErrorsOfRealExchanges(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	defer plain.Close()
	secure := httptest.NewUnstartedServer(plain.Config.Handler)
	secure.Config.ErrorLog = nil
	secure.StartTLS()
	defer secure.Close()
	old := httptest.NewUnstartedServer(plain.Config.Handler)
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	old.StartTLS()
	defer old.Close()
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := http.NewResponseController(w).Hijack()
		_ = conn.Close()
	}))
	defer cut.Close()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(407) }))
	defer proxy.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + closed.Addr().String()
	_ = closed.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	trusted := &tls.Config{RootCAs: roots}
	for name, one := range map[string]struct {
		url   string
		conf  *tls.Config
		proxy string
		want  Class
	}{
		"refused":   {url: nobody, want: NoPort},
		"authority": {url: secure.URL, want: TLSIssuer},
		"name":      {url: secure.URL, conf: &tls.Config{RootCAs: roots, ServerName: "other.test"}, want: TLSName},
		"expired": {url: secure.URL, conf: &tls.Config{RootCAs: roots,
			Time: func() time.Time { return secure.Certificate().NotAfter.Add(time.Hour) }}, want: TLSExpired},
		"early": {url: secure.URL, conf: &tls.Config{RootCAs: roots,
			Time: func() time.Time { return secure.Certificate().NotBefore.Add(-time.Hour) }}, want: TLSEarly},
		"version":       {url: old.URL, conf: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, want: TLSVersion},
		"plain http":    {url: "https" + plain.URL[len("http"):], conf: trusted, want: PlainHTTP},
		"cut":           {url: cut.URL, want: Cut},
		"proxy refused": {url: secure.URL, proxy: nobody, want: ProxyFault},
		"proxy login":   {url: secure.URL, proxy: proxy.URL, want: ProxyAsks},
	} {
		t.Run(name, func(t *testing.T) {
			tr := &http.Transport{TLSClientConfig: one.conf, OnProxyConnectResponse: ProxyAnswer}
			defer tr.CloseIdleConnections()
			if one.proxy != "" {
				to, _ := url.Parse(one.proxy)
				tr.Proxy = http.ProxyURL(to)
			}
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, one.url, nil)
			resp, err := tr.RoundTrip(req)
			if err == nil {
				_ = resp.Body.Close()
				t.Fatal("answered")
			}
			at := time.Now()
			if one.conf != nil && one.conf.Time != nil {
				at = one.conf.Time()
			}
			got := OfError(err, one.want == Cut, at)
			if got.Class != one.want {
				t.Errorf("%s: %v", got.Class, err)
			}
			if (got.Class == TLSExpired || got.Class == TLSEarly) && got.Until.IsZero() ||
				got.Class == TLSName && got.Names == "" || got.Class == ProxyFault && got.Target == "" {
				t.Errorf("no details: %+v", got)
			}
		})
	}
}

// TestHTTPToATLSPort: a server that answers a TLS alert, as one does to plain HTTP.
func TestHTTPToATLSPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_, _ = conn.Write([]byte{0x15, 3, 1, 0, 2, 2, 22})
		_ = conn.Close()
	}()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String(), nil)
	_, err = tr.RoundTrip(req) //nolint:bodyclose // there is no answer
	if got := OfError(err, true, time.Now()); got.Class != HTTPToTLS {
		t.Errorf("%s: %v", got.Class, err)
	}
}

func TestErrorsByKind(t *testing.T) {
	for _, one := range []struct {
		err       error
		connected bool
		want      Class
	}{
		{&net.DNSError{IsTimeout: true}, false, NoName},
		{context.DeadlineExceeded, false, NoConnect},
		{context.DeadlineExceeded, true, Slow},
		{syscall.ECONNRESET, true, Cut},
		{syscall.ECONNRESET, false, NoPort},
		{&jsontree.CodingError{Name: `"br"`}, true, Coded},
		{jsontree.ErrPacked, true, Coded},
		{errors.New("else"), true, NotAnswered},
	} {
		if got := OfError(one.err, one.connected, time.Now()); got.Class != one.want {
			t.Errorf("%v: %s", one.err, got.Class)
		}
	}
}

// TestStatuses: a status that shows the service is no fault.
func TestStatuses(t *testing.T) {
	for status, want := range map[int]Class{200: None, 304: None, 400: None, 401: None, 404: None, 409: None, 429: None,
		302: Moved, 407: ProxyAsks, 410: Gone, 500: Failed, 502: Gateway, 503: Maintenance, 504: Gateway} {
		if got := OfStatus(status); got != want {
			t.Errorf("%d: %s, not %s", status, got, want)
		}
	}
}
