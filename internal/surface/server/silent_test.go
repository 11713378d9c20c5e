package server_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
	"opdeck/internal/system/listen/listentest"
)

// TestSilentConnectionsKeepNobodyOut: 600 connections (2,000 with OPDECK_TEST_LONG=1) at each port and at the socket,
// which send nothing, half a header or a header without its body, and come again when they
// are closed: whoever sends at once is served, and within 2 s in the long run, which has the processors to itself.
// .ci/run plays it without the race detector as well.
func TestSilentConnectionsKeepNobodyOut(t *testing.T) {
	dir, err := os.MkdirTemp("", "opdeck-silent-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := begin(t, fmt.Sprintf("[lend]\nsocket = %q\nlisten = \"127.0.0.1:0\"\n[lend.borrowers.nightly]\nkey_env = \"HOOK_SECRET\"\n", dir+"/s"))
	_, rest, _ := strings.Cut(p.out.String(), "lend      http://")
	lend, _, _ := strings.Cut(rest, ",")
	tcp := func(addr string) func(int) (net.Conn, error) {
		return func(int) (net.Conn, error) { return net.Dial("tcp", addr) }
	}
	unix := func(int) (net.Conn, error) { return net.Dial("unix", dir+"/s") }
	heads := []string{"", "POST /hooks HTTP/1.1\r\nHost: 127.0.0.1\r\n", "POST /hooks HTTP/1.1\r\nHost: 127.0.0.1\r\n" +
		"Content-Length: 10\r\n\r\n"}
	metrics := strings.TrimSuffix(strings.TrimPrefix(p.metrics, "http://"), "/metrics")
	for _, c := range []struct {
		name  string
		dial  func(int) (net.Conn, error)
		serve func() error
	}{
		{"lend socket", unix, func() error { return get(unix, "http://opdeck/v2/customer/none", "", 404) }},
		{"lend port", tcp(lend), func() error { return get(tcp(lend), "http://"+lend+"/v2/customer/none", secret, 404) }},
		{"webhooks", tcp(strings.TrimSuffix(p.webhooks, "/hooks")), func() error {
			return get(tcp(strings.TrimSuffix(p.webhooks, "/hooks")), "http://"+strings.TrimSuffix(p.webhooks, "/hooks")+"/none", "", 404)
		}},
		{"metrics", tcp(metrics), func() error { return get(tcp(metrics), p.metrics, "", 200) }},
		{"ssh", tcp(p.ssh), func() error { return p.connects() }},
	} {
		n, limit := 600, 10*time.Second
		if os.Getenv("OPDECK_TEST_LONG") == "1" {
			n, limit = 2000, 2*time.Second
		}
		t.Run(c.name, func(t *testing.T) {
			stop, made := listentest.Silent(t, n, c.dial, heads...)
			defer stop()
			var most time.Duration
			for i := range 20 {
				began := time.Now()
				err := c.serve() // it gives up after 10 s
				took := time.Since(began)
				if most = max(most, took); err != nil || took > limit {
					t.Errorf("call %d: %s, %v", i, took.Round(time.Millisecond), err)
				}
			}
			t.Logf("%d connections; the slowest of 20 took %s", made.Load(), most.Round(time.Millisecond))
		})
	}
}

// get asks once, on a connection of its own, and wants a status.
func get(dial func(int) (net.Conn, error), url, key string, status int) error {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return dial(0) }}}
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if key != "" {
		req.Header.Set("X-Opdeck-Key", key)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != status {
		return fmt.Errorf("status %d, want %d", resp.StatusCode, status)
	}
	return nil
}

// connects logs in over SSH and leaves.
func (p *place) connects() error {
	name := "p-" + string(api.Viewer)
	conn, err := net.Dial("tcp", p.ssh)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _, _, err = gossh.NewClientConn(conn, p.ssh, &gossh.ClientConfig{User: name,
		Auth: []gossh.AuthMethod{gossh.PublicKeys(p.people[name])}, HostKeyCallback: gossh.InsecureIgnoreHostKey()})
	return err
}
