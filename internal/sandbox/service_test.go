package sandbox_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"opdeck/api/apitest"
	"opdeck/internal/sandbox"
	"opdeck/internal/sandbox/faulty"
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

// open starts a service that ends with the test, by default with a few operations, which is several times faster
// under the race detector. Its data have odd values too.
func open(t testing.TB, o sandbox.Options) *faulty.Service {
	t.Helper()
	return openFaulty(t, faulty.Options{Options: o})
}

func openFaulty(t testing.TB, o faulty.Options) *faulty.Service {
	t.Helper()
	o.Odd = true
	if o.Operations == 0 {
		o.Operations = 40
	}
	s, err := faulty.Open(t.Context(), o)
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

// configure changes settings of the service.
func configure(t testing.TB, s *faulty.Service, settings string) {
	t.Helper()
	if err := s.Configure(t.Context(), []byte(settings)); err != nil {
		t.Fatal(err)
	}
}

func connect(t testing.TB, s *faulty.Service) *client {
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
	v := c.want(200, "POST", "/v2/auth/login", map[string]string{"login": sandbox.DefaultLogin,
		"password": sandbox.DefaultPassword})
	c.access, c.fresh = v["accessToken"].(string), v["refreshToken"].(string)
	return c
}

// clock is a service's clock that tests move.
type clock struct{ ns atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ns.Store(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.ns.Load()) }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }

func TestStartsFast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	start := time.Now()
	open(t, sandbox.Options{Path: path, Operations: sandbox.DefaultOperations})
	created := time.Since(start)
	start = time.Now()
	open(t, sandbox.Options{Path: path})
	opened := time.Since(start)
	t.Logf("first start %v, next %v", created, opened)
	if created > 8*time.Second || opened > 3*time.Second { // far above the aim: the machine may be busy
		t.Errorf("first start %v, next %v", created, opened)
	}
}

func TestManyOperations(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 5,000 operations")
	}
	c := connect(t, open(t, sandbox.Options{Operations: 5_000})).login()
	v := c.want(200, "GET", "/v2/billing/operation?meta.pageSize=100&meta.page=49", nil)
	if total := v["meta"].(map[string]any)["total"]; total != "5000" {
		t.Errorf("total %v", total)
	}
	if n := len(v["items"].([]any)); n != 100 {
		t.Errorf("%d on the last page", n)
	}
}

// opid returns the id of the n-th newest operation.
func (c *client) opid(n int) string {
	c.t.Helper()
	return c.operation(n)["opid"].(string)
}

func (c *client) operation(n int) map[string]any {
	c.t.Helper()
	v := c.want(200, "GET", "/v2/billing/operation?meta.pageSize=1&meta.page="+strconv.Itoa(n), nil)
	return v["items"].([]any)[0].(map[string]any)
}

// cuid returns the id of a customer by part of its name.
func (c *client) cuid(name string) string {
	c.t.Helper()
	v := c.want(200, "GET", "/v2/customer?customerName="+url.QueryEscape(name), nil)
	return v["items"].([]any)[0].(map[string]any)["cuid"].(string)
}
