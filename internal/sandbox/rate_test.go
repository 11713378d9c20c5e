package sandbox_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"opdeck/internal/sandbox"
)

func TestRatesWarnFirst(t *testing.T) {
	at := newClock()
	s := open(t, sandbox.Options{Now: at.now})
	c := connect(t, s).login()
	for i := range 14 {
		at.advance(time.Second)
		r := c.do("GET", "/v2/account?meta.pageSize=1", nil)
		warned := r.header.Get("X-RateLimit-Warning")
		if r.status != 200 || (warned != "") != (i >= 12) {
			t.Errorf("call %d: %d, warning %q", i+1, r.status, warned)
		}
	}
	at.advance(49 * time.Second)
	if r := c.do("GET", "/v2/account", nil); r.header.Get("X-RateLimit-Warning") != "" {
		t.Error("warned after the window moved on")
	}
	stats, err := s.Stats(t.Context())
	if err != nil || stats.MaxPerMinute["account"] != 14 || stats.Warned["account"] != 2 ||
		stats.Requests["account"] != 15 || stats.Throttled["account"] != 0 {
		t.Errorf("%+v, %v", stats, err)
	}
}

func TestHardLimits(t *testing.T) {
	for path, limit := range map[string]int{"/v2/account": 12, "/v2/customer": 12, "/v2/billing/operation": 12,
		"/v2/report/operations": 12, "/v2/hook/get": 20, "/v2/counterparty": 20} {
		at := newClock()
		s := open(t, sandbox.Options{Now: at.now, HardLimits: true, Operations: 10})
		c := connect(t, s).login()
		for i := range limit {
			if r := c.do("GET", path, nil); r.status == 429 {
				t.Fatalf("%s: 429 at call %d", path, i+1)
			}
			at.advance(time.Second)
		}
		r := c.do("GET", path, nil)
		want := 60 - limit
		if r.status != 429 || r.header.Get("Retry-After") != strconv.Itoa(want) {
			t.Errorf("%s: %d, Retry-After %q, want %d", path, r.status, r.header.Get("Retry-After"), want)
		}
		at.advance(time.Duration(want) * time.Second)
		if r := c.do("GET", path, nil); r.status == 429 {
			t.Errorf("%s: still 429 after the wait", path)
		}
	}
}

func TestAuthRates(t *testing.T) {
	s := open(t, sandbox.Options{HardLimits: true})
	c := connect(t, s)
	for range 6 {
		c.login()
	}
	body := map[string]string{"login": sandbox.DefaultLogin, "password": sandbox.DefaultPassword}
	if r := c.do("POST", "/v2/auth/login", body); r.status != 429 {
		t.Errorf("seventh login: %d", r.status)
	}
	c.renew()
	if r := c.refresh(); r.status != 429 || !strings.Contains(string(r.body), "Too many requests") {
		t.Errorf("second refresh: %d %s", r.status, r.body)
	}
	if !c.alive() {
		t.Error("a 429 must not process anything")
	}
}
