package session

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"opdeck/api/reach"
	"opdeck/api/secret"
)

// rude is a server that answers /warm, and counts a refresh before it breaks the
// connection.
type rude struct {
	net.Listener
	reset bool
	mu    sync.Mutex
	seen  []string // heads of the refreshes
}

func newRude(t *testing.T, reset bool) *rude {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &rude{Listener: l, reset: reset}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go r.serve(c)
		}
	}()
	return r
}

func (r *rude) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	var head bytes.Buffer
	br := bufio.NewReader(io.TeeReader(c, &head))
	for {
		head.Reset()
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		if !strings.Contains(req.URL.Path, "refresh") {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			continue
		}
		r.mu.Lock()
		r.seen = append(r.seen, head.String())
		n := len(r.seen)
		r.mu.Unlock()
		if n > 4 { // enough is proved
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			return
		}
		if tcp, ok := c.(*net.TCPConn); ok && r.reset {
			_ = tcp.SetLinger(0)
		}
		return
	}
}

func (r *rude) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.seen)
}

func authTo(rt http.RoundTripper, base string) authClient {
	return authClient{rt: rt, baseURL: base, loginPath: "/v2/auth/login", refreshPath: "/v2/auth/refresh/",
		userAgent: "test"}
}

// warm makes several connections that stay in the pool, if the transport keeps any.
func warm(t *testing.T, rt http.RoundTripper, base string) {
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			resp, err := (&http.Client{Transport: rt}).Get(base + "/warm")
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		})
	}
	wg.Wait()
}

const marker = "tok-SECRET-7731"

// TestRefreshIsSentOnce is rule H1 against HTTP/1.1 servers that process a
// refresh and close or reset the connection. The control shows that the servers
// do provoke the repetition.
func TestRefreshIsSentOnce(t *testing.T) {
	for _, reset := range []bool{false, true} {
		t.Run(fmt.Sprintf("reset=%v", reset), func(t *testing.T) {
			control := newRude(t, reset)
			base := "http://" + control.Addr().String()
			plain := &http.Transport{}
			defer plain.CloseIdleConnections()
			warm(t, plain, base)
			if resp, err := (&http.Client{Transport: plain}).Get(base + "/v2/auth/refresh/x"); err == nil {
				_ = resp.Body.Close()
			}
			if control.count() < 2 {
				t.Errorf("the control was repeated %d times: the test proves nothing", control.count())
			}
			server := newRude(t, reset)
			base = "http://" + server.Addr().String()
			rt := NewAuthTransport(nil, nil)
			warm(t, rt, base)
			auth := authTo(rt, base)
			ans := auth.refresh(t.Context(), secret.New(marker))
			if server.count() != 1 || ans.outcome != Unknown {
				t.Errorf("sent %d times, outcome %s (%s)", server.count(), ans.outcome, ans.detail)
			}
			head := strings.ToLower(server.seen[0])
			if strings.Contains(head, "content-length") || strings.Contains(head, "transfer-encoding") ||
				!strings.HasPrefix(head, "get /v2/auth/refresh/"+strings.ToLower(marker)+" ") ||
				!strings.Contains(head, "cache-control: no-store") || strings.Contains(head, "authorization") ||
				strings.Contains(head, "idempotency") {
				t.Errorf("on the wire: %q", server.seen[0])
			}
		})
	}
}

// TestRefreshIsSentOnceToHTTP2Servers: a server that would speak HTTP/2, whose
// faults net/http answers with up to eight repetitions, is spoken to in HTTP/1.1
// and sees the request once.
func TestRefreshIsSentOnceToHTTP2Servers(t *testing.T) {
	for _, spec := range []string{"abort", "hijack and reset", "half an answer", "redirect", "abort h2", "half an answer h2",
		"redirect h2"} {
		fault, only := strings.CutSuffix(spec, " h2")
		want := "HTTP/1.1"
		var mu sync.Mutex
		var protos []string
		elsewhere := 0
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "warm") {
				return
			}
			mu.Lock()
			protos = append(protos, r.Proto)
			mu.Unlock()
			switch fault {
			case "abort":
				panic(http.ErrAbortHandler)
			case "hijack and reset":
				if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
					_ = c.Close()
				}
			case "half an answer":
				w.Header().Set("Content-Length", "1000")
				_, _ = io.WriteString(w, `{"accessToken":`)
			case "redirect":
				http.Redirect(w, r, other.URL, http.StatusFound)
			}
		}))
		server.EnableHTTP2 = true
		server.Config.ErrorLog = discardLog()
		if only {
			want = "HTTP/2.0"
			server.TLS = &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
				if slices.Contains(hello.SupportedProtos, "h2") {
					return nil, nil
				}
				return &tls.Config{Certificates: server.TLS.Certificates, NextProtos: []string{"none"}}, nil
			}}
		}
		server.StartTLS()
		pool := x509.NewCertPool()
		pool.AddCert(server.Certificate())
		rt := NewAuthTransport(&tls.Config{RootCAs: pool}, nil)
		if !only {
			warm(t, rt, server.URL)
		}
		auth := authTo(rt, server.URL)
		ans := auth.refresh(t.Context(), secret.New(marker))
		mu.Lock()
		if len(protos) != 1 || protos[0] != want || ans.outcome != Unknown || elsewhere != 0 {
			t.Errorf("%s: seen %v, outcome %s, followed %d times", spec, protos, ans.outcome, elsewhere)
		}
		mu.Unlock()
		server.Close()
		other.Close()
	}
}

// TestNotSent: what was never sent is distinguished from what may have been processed (rule D2).
func TestNotSent(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	strange := httptest.NewUnstartedServer(http.NotFoundHandler()) // its certificate is not known
	strange.Config.ErrorLog = discardLog()
	strange.StartTLS()
	defer strange.Close()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	for base, want := range map[string]Outcome{
		"http://" + closed.Addr().String(): NotSent,
		"https://nowhere.invalid":          NotSent,
		strange.URL:                        NotSent,
		silent.URL:                         Unknown,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		auth := authTo(NewAuthTransport(nil, nil), base)
		ans := auth.refresh(ctx, secret.New(marker))
		cancel()
		if ans.outcome != want || ans.fault.Class == reach.None {
			t.Errorf("%s: %s (%s), want %s", base, ans.outcome, ans.fault, want)
		}
		if strings.Contains(fmt.Sprintf("%+v", ans), marker) {
			t.Errorf("%s: the token shows in %+v", base, ans)
		}
	}
}

func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	NewAuthTransport(nil, func(t1 *http.Transport) {
		if t1.Proxy != nil {
			t.Error("logins go where HTTPS_PROXY points")
		}
	})
}
