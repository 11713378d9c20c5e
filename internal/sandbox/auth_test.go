package sandbox_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"opdeck/internal/sandbox"
	"opdeck/internal/sandbox/faulty"
)

const anyCall = "/v2/hook/get"

func (c *client) refresh() reply {
	c.t.Helper()
	return c.do("GET", "/v2/auth/refresh/"+url.PathEscape(c.fresh), nil)
}

func (c *client) renew() {
	c.t.Helper()
	r := c.refresh()
	if r.status != 200 {
		c.t.Fatalf("refresh: %d %s", r.status, r.body)
	}
	v := r.json(c.t)
	c.access, c.fresh = v["accessToken"].(string), v["refreshToken"].(string)
}

func (c *client) alive() bool {
	c.t.Helper()
	return c.do("GET", anyCall, nil).status == 200
}

func TestOnePair(t *testing.T) {
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprintf("strict=%v", strict), func(t *testing.T) {
			s := open(t, sandbox.Options{})
			configure(t, s, fmt.Sprintf(`{"strict_login": %t}`, strict))
			first := connect(t, s).login()
			second := connect(t, s).login()
			if first.alive() || !second.alive() {
				t.Error("a login must end the access tokens before it, and only those")
			}
			r := first.refresh()
			if strict {
				if r.status != 401 || !strings.Contains(string(r.body), "Token revoked. Please log in again") {
					t.Errorf("refresh with a token killed by a login: %d %s", r.status, r.body)
				}
				return
			}
			if r.status != 200 {
				t.Fatalf("refresh after a foreign login: %d %s", r.status, r.body)
			}
			if second.alive() {
				t.Error("a refresh must end all other sessions")
			}
			if second.refresh().status != 401 {
				t.Error("a refresh must end the refresh tokens of other pairs")
			}
		})
	}
}

func TestRefreshIsSingleUse(t *testing.T) {
	s := open(t, sandbox.Options{})
	c := connect(t, s).login()
	old := *c
	c.renew()
	if old.alive() || !c.alive() {
		t.Error("a refresh must end the old access token and give a living one")
	}
	r := old.refresh()
	if r.status != 401 || r.json(t)["error"] != "Token revoked. Please log in again" {
		t.Errorf("second use: %d %s", r.status, r.body)
	}
	if !c.alive() {
		t.Error("a refused refresh must change nothing")
	}
	stats, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if stats.Logins != 1 || stats.Refreshes != 1 || stats.RefreshesRefused != 1 || stats.MostPresentations != 2 ||
		stats.Unauthorized != 1 {
		t.Errorf("stats %+v", stats)
	}
	log := s.AuthLog()
	if len(log) != 3 || log[0].Kind != "login" || log[1].Outcome != "ok" ||
		log[2].Outcome != "Token revoked. Please log in again" {
		t.Errorf("auth log %+v", log)
	}
}

func TestLifetimes(t *testing.T) {
	at := newClock()
	s := open(t, sandbox.Options{Now: at.now, AccessTTL: 8 * time.Second, RefreshTTL: 24 * time.Second})
	c := connect(t, s).login()
	at.advance(7 * time.Second)
	if !c.alive() {
		t.Error("dead before its time")
	}
	at.advance(time.Second)
	if c.alive() {
		t.Error("alive after its time")
	}
	c.renew()
	at.advance(24 * time.Second)
	if r := c.refresh(); r.status != 401 || r.json(t)["error"] != "Invalid or expired refresh token" {
		t.Errorf("expired refresh token: %d %s", r.status, r.body)
	}
	c.fresh = "never-issued"
	if r := c.refresh(); r.status != 401 || r.json(t)["error"] != "Invalid or expired refresh token" {
		t.Errorf("unknown refresh token: %d %s", r.status, r.body)
	}
}

func TestAccessTokenIsJWT(t *testing.T) {
	at := newClock()
	s := openFaulty(t, faulty.Options{Options: sandbox.Options{Now: at.now, AccessTTL: time.Minute},
		Style: faulty.Style{Marker: "LEAKMARK7"}})
	c := connect(t, s).login()
	parts := strings.Split(c.access, ".")
	if len(parts) != 3 {
		t.Fatalf("%d parts", len(parts))
	}
	for i, p := range parts {
		if _, err := base64.RawURLEncoding.DecodeString(p); err != nil {
			t.Errorf("part %d is not base64url: %v", i, err)
		}
	}
	raw, _ := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Iat, Exp int64
		Sub, Jti string
	}
	if err := json.Unmarshal(raw, &claims); err != nil || claims.Iat != at.now().Unix() || claims.Exp != claims.Iat+60 ||
		claims.Sub == "" || claims.Jti == "" {
		t.Errorf("claims %s, %v", raw, err)
	}
	if !strings.Contains(c.access, "LEAKMARK7") || !strings.Contains(c.fresh, "LEAKMARK7") {
		t.Error("marker missing")
	}
}

func TestOddTokens(t *testing.T) {
	s := openFaulty(t, faulty.Options{Style: faulty.Style{Opaque: true,
		Suffix: "/../a%2F+ b?c" + strings.Repeat("x", 8<<10)}})
	c := connect(t, s).login()
	c.http.Transport = s.Transport() // the contract's router does not take every path
	if strings.Contains(c.access, ".") {
		t.Errorf("access token %q is no opaque one", c.access)
	}
	c.renew()
	if !c.alive() {
		t.Error("the pair is not alive")
	}
}

func TestRefusedLogins(t *testing.T) {
	tests := []struct {
		name   string
		body   any
		status int
		text   string
	}{
		{"wrong password", map[string]string{"login": "machine@sandbox", "password": "no"}, 401, "Invalid login or password"},
		{"wrong login", map[string]string{"login": "x", "password": "sandbox"}, 401, "Invalid login or password"},
		{"no password", map[string]string{"login": "machine@sandbox"}, 400, "login and password are required"},
		{"no object", []int{1}, 400, "The body is not valid JSON of the expected shape"},
	}
	s := open(t, sandbox.Options{})
	keep := connect(t, s).login()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := connect(t, s).do("POST", "/v2/auth/login", tt.body)
			if r.status != tt.status || r.json(t)["error"] != tt.text {
				t.Errorf("%d %s", r.status, r.body)
			}
		})
	}
	if !keep.alive() {
		t.Error("a refused login must change nothing")
	}
}

func TestTwoFactor(t *testing.T) {
	s := open(t, sandbox.Options{})
	c := connect(t, s).login()
	configure(t, s, `{"login_code": "314159"}`)
	for code, want := range map[string]string{"": "Two-factor authentication code required",
		"000000": "Invalid two-factor authentication code", "314159": ""} {
		r := c.do("POST", "/v2/auth/login", map[string]string{"login": "machine@sandbox", "password": "sandbox", "code": code})
		if said, _ := r.json(t)["error"].(string); said != want || (r.status == 200) != (want == "") {
			t.Errorf("code %q: %d %s", code, r.status, r.body)
		}
	}
	if r := c.refresh(); r.status != 401 || !strings.Contains(string(r.body), "Two-factor") {
		t.Errorf("refresh: %d %s", r.status, r.body)
	}
}

func TestForeignLoginAndRevoke(t *testing.T) {
	s := open(t, sandbox.Options{})
	c := connect(t, s).login()
	if err := s.ForeignLogin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.alive() {
		t.Error("alive after a foreign login")
	}
	c.renew()
	if err := s.Revoke(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.alive() || c.refresh().status != 401 {
		t.Error("alive after everything was revoked")
	}
	stats, err := s.Stats(t.Context())
	if err != nil || stats.ForeignLogins != 2 || stats.Logins != 1 {
		t.Errorf("stats %+v, %v", stats, err)
	}
}

func TestMissingToken(t *testing.T) {
	c := connect(t, open(t, sandbox.Options{}))
	r := c.do("GET", anyCall, nil)
	if r.status != 401 || r.header.Get("Www-Authenticate") == "" || r.json(t)["error"] != "Missing access token" {
		t.Errorf("%d %v %s", r.status, r.header, r.body)
	}
}
