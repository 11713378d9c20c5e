package session

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"opdeck/api/jsontree"
	"opdeck/api/secret"
)

func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }

func jwt(iat, exp int64) string {
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(`{"alg":"none"}`)) + "." + enc(fmt.Appendf(nil, `{"iat":%d,"exp":%d}`, iat, exp)) + ".x"
}

// TestAnswers holds the judgement of an answer against rules D1 to D7.
func TestAnswers(t *testing.T) {
	good := `{"accessToken":"acc","refreshToken":"ref","UserId":"u","accessTtl":300,"refreshTtl":900}`
	now := time.Now()
	for _, c := range []struct {
		name     string
		login    bool
		status   int
		header   map[string]string
		body     string
		want     Outcome
		ttl      time.Duration
		retry    time.Duration
		noRefesh bool
	}{
		{name: "login", login: true, status: 200, body: good, want: OK, ttl: 5 * time.Minute},
		{name: "created", login: true, status: 201, body: good, want: OK, ttl: 5 * time.Minute},
		{name: "refresh", status: 200, body: good, want: OK, ttl: 5 * time.Minute},
		{name: "numbers as text", status: 200,
			body: `{"accessToken":"acc","refreshToken":"ref","accessTtl":"60","refreshTtl":"900"}`, want: OK,
			ttl: 5 * time.Minute},
		{name: "no refresh token", status: 200, body: `{"accessToken":"acc","accessTtl":300}`, want: OK, ttl: 5 * time.Minute,
			noRefesh: true},
		{name: "no lifetime, but a JWT", status: 200, body: `{"accessToken":"` + jwt(now.Unix(), now.Unix()+240) +
			`","refreshToken":"r"}`, want: OK, ttl: 4 * time.Minute},
		{name: "no lifetime", status: 200, body: `{"accessToken":"acc","refreshToken":"ref"}`, want: OK, ttl: 5 * time.Minute},
		{name: "JWT over", status: 200, body: `{"accessToken":"` + jwt(now.Unix()-600, now.Unix()-300) +
			`","refreshToken":"r","accessTtl":300}`, want: Unknown},
		{name: "empty access token", status: 200, body: `{"accessToken":"","refreshToken":"ref","accessTtl":300}`,
			want: Unknown},
		{name: "token with a line end", status: 200, body: `{"accessToken":"a\nb","refreshToken":"ref","accessTtl":300}`,
			want: Unknown},
		{name: "token too long", status: 200, body: `{"accessToken":"` + strings.Repeat("x", maxToken+1) +
			`","refreshToken":"ref","accessTtl":300}`, want: Unknown},
		{name: "JSON under another type", status: 200, header: map[string]string{"Content-Type": "text/html"}, body: good,
			want: OK, ttl: 5 * time.Minute},
		{name: "from a cache", status: 200, header: map[string]string{"Age": "3"}, body: good, want: Unknown},
		{name: "wrong password", login: true, status: 401, body: `{"error":"Invalid login or password"}`, want: Refused},
		{name: "login 404", login: true, status: 404, want: Unknown},
		{name: "login wants a code", login: true, status: 403, body: `{"error":"TOTP_REQUIRED"}`, want: TwoFactor},
		{name: "login wants a code, politely", login: true, status: 200, body: `{"message":"two-factor code needed"}`,
			want: TwoFactor},
		{name: "refresh wants a code", status: 401, body: `{"error":"2FA code required"}`, want: TwoFactor},
		{name: "refresh refused", status: 401, body: `{"error":"Invalid or expired refresh token"}`, want: Refused},
		{name: "refresh revoked", status: 400, body: `{"error":"Token revoked. Please log in again"}`, want: Refused},
		{name: "refresh gone", status: 410, want: Refused},
		{name: "refresh 404", status: 404, want: Refused},
		{name: "429", status: 429, header: map[string]string{"Retry-After": "30"}, want: Throttled, retry: 30 * time.Second},
		{name: "429 by date", status: 429, header: map[string]string{"Retry-After": "Thu, 01 Jan 2026 00:00:45 GMT",
			"Date": "Thu, 01 Jan 2026 00:00:00 GMT"}, want: Throttled, retry: 45 * time.Second},
		{name: "429 for ever", status: 429, header: map[string]string{"Retry-After": "999999999999"}, want: Throttled,
			retry: 5 * time.Minute},
		{name: "429 without a time", status: 429, want: Throttled, retry: time.Minute},
	} {
		var got *http.Request
		var sent string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = r
			b, _ := io.ReadAll(r.Body)
			sent = string(b)
			w.Header().Set("Content-Type", "application/json")
			for k, v := range c.header {
				w.Header().Set(k, v)
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		auth := authTo(NewAuthTransport(nil, nil), server.URL)
		var a answer
		if c.login {
			a = auth.login(t.Context(), "machine@example.com", secret.New(`pa"ss`))
		} else {
			a = auth.refresh(t.Context(), secret.New("a/b%2F+.."))
		}
		server.Close()
		if a.outcome != c.want || a.accessTTL != c.ttl || a.retryAfter != c.retry ||
			(a.outcome == OK && a.refresh.Empty() != c.noRefesh) {
			t.Errorf("%s: %s, %s, retry %s (%s)", c.name, a.outcome, a.accessTTL, a.retryAfter, a.detail)
		}
		if c.login && sent != `{"login":"machine@example.com","password":"pa\"ss"}` {
			t.Errorf("%s: the login sent %s", c.name, sent)
		}
		if !c.login && got.URL.Path != "/v2/auth/refresh/a/b%2F+.." {
			t.Errorf("%s: the token arrives as %q", c.name, got.URL.Path)
		}
	}
	for token, want := range map[string]string{"..": "%2E%2E", ".": "%2E", "a/b": "a%2Fb", "a.b": "a.b"} {
		if got := escapeSegment(token); got != want {
			t.Errorf("escapeSegment(%q) = %q", token, got)
		}
	}
}

// TestLifetimes: the announced number of seconds counts, unless the token itself ends earlier; what is missing or has
// another form is the documented lifetime, and that is said with the key that mends it.
func TestLifetimes(t *testing.T) {
	five := 5 * time.Minute
	for _, c := range []struct {
		announced string
		jwt       time.Duration
		want      time.Duration
		assumed   bool // the documented lifetime is assumed, and said
	}{
		{"300", 0, five, false}, {"300", five, five, false}, {"120", five, 2 * time.Minute, false}, {"5", 0, 5 * time.Second, false},
		{"3600", 0, time.Hour, false}, {"3600", five, five, false}, {"299.5", 0, 299500 * time.Millisecond, false},
		{"86400", 0, 24 * time.Hour, false}, {"1", 0, time.Second, false}, {"3e2", 0, five, false},
		{"300000", 0, five, true}, {"300000", five, five, false}, {"1772366400", 0, five, true}, {"1e15", 0, five, true},
		{"0", 0, five, true}, {"-1", 0, five, true}, {"0.5", 0, five, true}, {"0", 4 * time.Minute, 4 * time.Minute, false},
		{`"300"`, 0, five, true}, {`"300s"`, 0, five, true}, {`"PT5M"`, 0, five, true}, {"null", 0, five, true},
		{"true", 0, five, true}, {`{"seconds":60}`, 0, five, true}, {"[60]", 0, five, true}, {"", 0, five, true},
		{`"60"`, 4 * time.Minute, 4 * time.Minute, false}, {"", 72 * time.Hour, 24 * time.Hour, false},
	} {
		v, err := jsontree.Parse([]byte(`{"v":` + cmp.Or(c.announced, "null") + `}`))
		if err != nil {
			t.Fatal(err)
		}
		got, warning := accessLife(announced(v.Member("v")), c.jwt)
		if got != c.want || strings.Contains(warning, "access_ttl_field") != c.assumed {
			t.Errorf("%s with a token of %s: %s, %q", c.announced, c.jwt, got, warning)
		}
	}
	for in, want := range map[time.Duration]time.Duration{0: 15 * time.Minute, time.Hour: time.Hour, longest: longest} {
		if got := refreshLife(in); got != want {
			t.Errorf("refreshLife(%s) = %s, want %s", in, got, want)
		}
	}
	c := Defaults()
	for life, want := range map[time.Duration]time.Duration{five: 30 * time.Second, time.Hour: time.Minute,
		time.Minute: 15 * time.Second, 30 * time.Second: 10 * time.Second, 5 * time.Second: 5 * time.Second / 3} {
		if got := c.margin(life); got != want {
			t.Errorf("margin of %s is %s, want %s", life, got, want)
		}
	}
}

func TestNormalKey(t *testing.T) {
	for in, want := range map[string]string{
		"https://Host.Example":          "https://host.example",
		"HTTPS://host.example:443/":     "https://host.example",
		"https://host.example:8443/v1/": "https://host.example:8443/v1",
		"http://127.0.0.1:80":           "http://127.0.0.1",
		"http://127.9.9.9:8787/":        "http://127.9.9.9:8787",
		"http://[::1]:8787":             "http://[::1]:8787",
		"https://host.example.":         "https://host.example",
	} {
		k, err := NormalKey(in, " Machine@Example.com ")
		if err != nil || k.BaseURL != want || k.Account != "Machine@Example.com" {
			t.Errorf("NormalKey(%q) = %+v, %v", in, k, err)
		}
	}
	for _, in := range []string{"", "host.example", "http://host.example", "http://localhost",
		"http://127.0.0.1.evil.example", "http://2130706433", "http://0x7f000001", "http://127.1", "http://0.0.0.0",
		"https://user@host.example", "https://host.example?x=1", "https://host.example#f", "https://host.example\\@evil",
		"https://host.example:99999", "https://host.example:0", "ftp://host.example",
		"http://[::ffff:127.0.0.1]", "http://[fe80::1%25lo]", "https://höst.example", "https:host.example"} {
		if k, err := NormalKey(in, "a"); err == nil {
			t.Errorf("NormalKey(%q) = %+v, want an error", in, k)
		}
	}
	if _, err := NormalKey("https://host.example", "  "); err == nil {
		t.Error("an empty account passes")
	}
}
