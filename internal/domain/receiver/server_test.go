package receiver_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"opdeck/api/hook"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/receiver/receivertest"
)

// W27: what may be listened on.
func TestListenRules(t *testing.T) {
	in := openInbox(t)
	proxy := []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")}
	for _, c := range []struct {
		listen, kind string
		proxies      []netip.Prefix
		tls          *tls.Config
		ok           bool
	}{
		{"127.0.0.1:0", hook.VerifyJWT, nil, nil, true},
		{"127.0.0.1:0", hook.VerifyNone, nil, nil, true},
		{"0.0.0.0:0", hook.VerifyJWT, nil, nil, false},
		{":0", hook.VerifyJWT, nil, nil, false},
		{"0.0.0.0:0", hook.VerifyNone, nil, nil, false},
		{"0.0.0.0:0", hook.VerifyNone, nil, &tls.Config{}, false},
		{"0.0.0.0:0", hook.VerifyJWT, proxy, nil, true},
		{"0.0.0.0:0", hook.VerifyJWT, nil, &tls.Config{}, true},
		{"8788", hook.VerifyJWT, nil, nil, false},
	} {
		r := start(t, receiver.Options{Inbox: in, Verifier: verifier(t, c.kind), Proxies: c.proxies})
		s, err := receiver.Listen(context.Background(), r, receiver.ServerOptions{Listen: c.listen, TLS: c.tls})
		if (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
		if err == nil {
			stop(t, s)
		}
	}
	r, err := receiver.New(receiver.Options{Inbox: in})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := receiver.Listen(context.Background(), r, receiver.ServerOptions{Listen: "127.0.0.1:0"}); err == nil {
		t.Error("listens without a verifier")
	}
	if err := r.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// stop runs a server for a moment, which closes its port.
func stop(t *testing.T, s *receiver.Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Serve(ctx); err != nil {
		t.Error(err)
	}
}

// serving runs a server on a free port until t ends and returns its address.
func serving(t *testing.T, r *receiver.Receiver, opt receiver.ServerOptions) string {
	t.Helper()
	opt.Listen = "127.0.0.1:0"
	s, err := receiver.Listen(context.Background(), r, opt)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s.Addr().String()
}

// talk sends raw bytes and returns the status lines of the answers until the
// server closes.
func talk(t *testing.T, addr, send string) (lines []string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c, send); err != nil && !strings.Contains(err.Error(), "reset") &&
		!strings.Contains(err.Error(), "pipe") {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(c)
	for sc.Scan() {
		if l := sc.Text(); strings.HasPrefix(l, "HTTP/") {
			lines = append(lines, l)
		}
	}
	if err := sc.Err(); err != nil && strings.Contains(err.Error(), "timeout") {
		t.Errorf("the server kept the connection open after %q", send[:min(len(send), 60)])
	}
	return lines
}

// W07, W08, W09, W10 on a real connection.
func TestWire(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("server", func(t *testing.T) {
		in := openInbox(t)
		r := start(t, receiver.Options{Inbox: in, Verifier: verifier(t, hook.VerifyHeader),
			BodyTimeout: 150 * time.Millisecond, Now: time.Now})
		addr := serving(t, r, receiver.ServerOptions{HeaderTimeout: 150 * time.Millisecond,
			IdleTimeout: 100 * time.Millisecond})
		body := string(receivertest.Body(1, "op"))
		head := "POST /hooks HTTP/1.1\r\nHost: x\r\nAuthorization: " + testSecret + "\r\n"
		for _, c := range []struct{ name, send, want string }{
			{"idle after a delivery", head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body), "HTTP/1.1 200 OK"},
			{"expects to be asked on", head + fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d\r\n\r\n%s", len(body),
				body), "HTTP/1.1 100 Continue HTTP/1.1 200 OK"},
			{"HTTP/1.0", strings.Replace(head, "1.1", "1.0", 1) + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body),
				"HTTP/1.0 200 OK"},
			{"slow headers", "POST /hooks HTTP/1.1\r\nHost: x\r\n", ""},
			{"nothing at all", "", ""},
			{"slow body", head + "Content-Length: 100\r\n\r\n{", "HTTP/1.1 408 Request Timeout"},
			{"chunks without end", head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "HTTP/1.1 408 Request Timeout"},
			{"both lengths", head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
				"HTTP/1.1 400 Bad Request"},
			{"too large, said", head + "Content-Length: 999999999\r\n\r\n", "HTTP/1.1 413 Request Entity Too Large"},
			{"64 kB of header", head + "X: " + strings.Repeat("a", 64<<10) + "\r\n\r\n",
				"HTTP/1.1 431 Request Header Fields Too Large"},
			{"no HTTP", "\x16\x03\x01hello\r\n\r\n", "HTTP/1.1 400 Bad Request"},
			{"two slashes", strings.Replace(head, "/hooks", "//hooks", 1) + "Content-Length: 0\r\n\r\n",
				"HTTP/1.1 404 Not Found"},
		} {
			if got := strings.Join(talk(t, addr, c.send), " "); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
		if got := talk(t, addr, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); len(got) > 0 && strings.Contains(got[0], " 200 ") {
			t.Error("HTTP/2:", got)
		}
		if rows := stored(t, in); len(rows) != 1 || rows[0].Deliveries != 3 || rows[0].Source != "127.0.0.1" {
			t.Errorf("%+v", rows)
		}
	})
}

// W08: idle connections give way to new ones.
func TestIdleConnectionsGiveWay(t *testing.T) {
	r := start(t, receiver.Options{Inbox: openInbox(t), Now: time.Now})
	addr := serving(t, r, receiver.ServerOptions{MaxConns: 4})
	var open []net.Conn
	for range 40 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	body := receivertest.Body(1, "op")
	req, err := http.NewRequest(http.MethodPost, "http://"+addr+"/hooks", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	receivertest.Sign(req.Header, "", "", testSecret, body, time.Now())
	client := &http.Client{Transport: &http.Transport{}, Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 200 {
		t.Error(res.Status)
	}
	closed := 0
	for _, c := range open {
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); err != nil && !strings.Contains(err.Error(), "timeout") {
			closed++
		}
		_ = c.Close()
	}
	if closed < 36 {
		t.Errorf("%d of 40 silent connections were closed", closed)
	}
}
