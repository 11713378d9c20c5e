package sandbox_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opdeck/api/apitest"
	"opdeck/internal/sandbox"
)

// client is a small caller of the service.
type client struct {
	t      testing.TB
	http   *http.Client
	base   string
	access string
	fresh  string // refresh token
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r reply) json(t testing.TB) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(r.body, &v); err != nil {
		t.Fatalf("answer is no JSON object: %v: %q", err, r.body)
	}
	return v
}

func open(t testing.TB, o sandbox.Options) *sandbox.Service {
	t.Helper()
	s, err := sandbox.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func connect(t testing.TB, s *sandbox.Service) *client {
	return &client{t: t, http: &http.Client{Transport: apitest.Contract(t, s.Transport())}, base: "http://sandbox.test"}
}

func (c *client) do(method, path string, body any) reply {
	c.t.Helper()
	var in io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		in = bytes.NewReader(raw)
	}
	return c.send(method, path, in, "application/json")
}

func (c *client) send(method, path string, body io.Reader, contentType string) reply {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", contentType)
	}
	if c.access != "" {
		r.Header.Set("Authorization", "Bearer "+c.access)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, raw}
}

func (c *client) want(status int, method, path string, body any) map[string]any {
	c.t.Helper()
	r := c.do(method, path, body)
	if r.status != status {
		c.t.Fatalf("%s %s: status %d, want %d: %s", method, path, r.status, status, r.body)
	}
	return r.json(c.t)
}

func (c *client) login() *client {
	c.t.Helper()
	v := c.want(200, "POST", "/v2/auth/login", map[string]string{"login": sandbox.DefaultLogin, "password": sandbox.DefaultPassword})
	c.access, c.fresh = v["accessToken"].(string), v["refreshToken"].(string)
	return c
}

func TestSmoke(t *testing.T) {
	start := time.Now()
	path := filepath.Join(t.TempDir(), "s.db")
	s := open(t, sandbox.Options{Path: path})
	t.Log("created in", time.Since(start))
	start = time.Now()
	s2 := open(t, sandbox.Options{Path: path})
	t.Log("opened in", time.Since(start))
	c := connect(t, s).login()
	for _, p := range []string{"/v2/billing/operation?meta.pageSize=3", "/v2/customer?meta.pageSize=2", "/v2/account?meta.pageSize=1", "/v2/counterparty?meta.pageSize=1",
		"/v2/counterparty/account?meta.pageSize=1", "/v2/hook/get", "/sandbox/stats", "/sandbox/settings"} {
		start = time.Now()
		r := c.do("GET", p, nil)
		t.Log(p, time.Since(start), r.status, string(r.body[:min(len(r.body), 1500)]))
	}
	_ = s2
	_ = strings.ToLower
}

func BenchmarkMillion(b *testing.B) {
	path := filepath.Join(b.TempDir(), "s.db")
	start := time.Now()
	s, err := sandbox.Open(b.Context(), sandbox.Options{Path: path, Operations: 1_000_000})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(time.Since(start).Seconds(), "s/first")
	s.Close()
	start = time.Now()
	s = open(b, sandbox.Options{Path: path, Operations: 1_000_000})
	b.ReportMetric(time.Since(start).Seconds(), "s/again")
	c := connect(b, s).login()
	for _, p := range []string{"/v2/billing/operation?meta.pageSize=100", "/v2/billing/operation?meta.pageSize=100&meta.page=9000", "/v2/billing/operation?status=FAILED", "/v2/billing/operation?type=EXCHANGE&meta.pageSize=100", "/v2/billing/operation?clientName=ana", "/v2/billing/operation?fromCreatedAt=2026-10-01T00:00:00Z"} {
		start = time.Now()
		r := c.do("GET", p, nil)
		b.Log(p, time.Since(start), r.status, len(r.body))
	}
}
