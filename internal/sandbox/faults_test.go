package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/internal/sandbox"
	"opdeck/internal/sandbox/faulty"
)

func faults(t testing.TB, spec string) faulty.Faults {
	t.Helper()
	f, err := faulty.ParseFaults(spec)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestParseFaults(t *testing.T) {
	for _, spec := range []string{
		"", "drop=refresh:3", "delay=billing:2s", "status=login:502", "rubbish=*", "truncate=api:2@0.5#4", "lag=1.5s",
		"skew=-40s", "probability=0.2,drop=all",
		"redirect=refresh:http://127.0.0.1:9/x", "busy=login:30s", "omit=login:refreshToken", "blank=refresh",
		"huge=login:10485760", "after=remove:504", "late=share:1s:2",
		"status=remove:200/ended", "after=upload:html", "status=login:400/=Code%20is%20required", "later=remove:4s/hang",
		"later=write:1s/502/none", "refusal=*:500/own", "unauthorized=api:403/revoked",
		"rename=list:items/operations", "shape=*:numbers-as-text~2@20%#3", "style=*:success", "mime=list:text/plain",
		"cap=list:50", "arrive=list:2:3", "order=oldest", "variant=share-apart",
	} {
		if f, err := faulty.ParseFaults(spec); err != nil || f.String() != spec {
			t.Errorf("%q: %q, %v", spec, f.String(), err)
		}
	}
	for spec, part := range map[string]string{
		"drop": "kind=value", "smash=login": "unknown kind", "delay=billing": "needs a duration",
		"delay=billing:soon": "duration", "status=login:99": "is not a status",
		"drop=login:0": "is not a count", "drop=login@2": "is not a chance", "drop=login#x": "is not a count",
		"lag=later": "duration", "probability=3": "between 0 and 1", "drop=login:1:2": "too many",
		"drop=lst": "use one of", "status=remove:700": "is not a status", "status=remove:200/nonsense": "use one of",
		"status=remove:ok/ended": "is not a status", "later=remove:soon": "duration",
		"rename=list:items": "slash", "shape=list:odd": "use one of", "style=list:odd": "use one of",
		"cap=list:0": "is not a count", "cut=list:-1": "bytes", "order=sideways": "use one of", "variant=odd": "use one of",
		"drop=login~x": "is not a count", "drop=login@0%": "is not a chance",
	} {
		if _, err := faulty.ParseFaults(spec); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v", spec, err)
		}
	}
}

// both runs f over the in-process transport and over TCP.
func both(t *testing.T, o faulty.Options, f func(t *testing.T, s *faulty.Service, c *client)) {
	t.Run("in-process", func(t *testing.T) {
		s := openFaulty(t, o)
		c := connect(t, s)
		c.http = &http.Client{Transport: s.Transport(), CheckRedirect: stay}
		f(t, s, c)
	})
	t.Run("tcp", func(t *testing.T) {
		s := openFaulty(t, o)
		server := httptest.NewServer(s.Handler())
		t.Cleanup(server.Close)
		c := connect(t, s)
		c.base, c.http = server.URL, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: stay}
		f(t, s, c)
	})
}

func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// try sends a login and returns what came of it.
func (c *client) try() (status int, body []byte, header http.Header, err error) {
	r, err := http.NewRequestWithContext(c.t.Context(), "POST", c.base+"/v2/auth/login",
		strings.NewReader(`{"login":"machine@sandbox","password":"sandbox"}`))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, resp.Header, err
}

func logins(t *testing.T, s *faulty.Service) int64 {
	t.Helper()
	st, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return st.Logins
}

func TestFaultsThatLoseTheAnswer(t *testing.T) {
	for _, tt := range []struct {
		spec      string
		processed int64
		cause     error // nil: any
	}{
		{"drop=login", 1, nil}, {"reset=login", 1, nil}, {"refuse=login", 0, nil},
		{"truncate=login", 1, io.ErrUnexpectedEOF},
	} {
		t.Run(tt.spec, func(t *testing.T) {
			both(t, faulty.Options{Options: sandbox.Options{Operations: 1}, Faults: faults(t, tt.spec)},
				func(t *testing.T, s *faulty.Service, c *client) {
					_, _, _, err := c.try()
					if err == nil || tt.cause != nil && !errors.Is(err, tt.cause) {
						t.Errorf("error %v, want %v", err, tt.cause)
					}
					if n := logins(t, s); n != tt.processed {
						t.Errorf("%d processed, want %d", n, tt.processed)
					}
				})
		})
	}
}

func TestFaultsThatSpoilTheAnswer(t *testing.T) {
	for _, tt := range []struct {
		spec      string
		processed int64
		check     func(status int, body string, h http.Header) bool
	}{
		{"status=login:502", 0, func(s int, b string, _ http.Header) bool {
			return s == 502 && strings.Contains(b, "Bad Gateway")
		}},
		{"after=login:504", 1, func(s int, b string, _ http.Header) bool { return s == 504 }},
		{"busy=login:30s", 0, func(s int, _ string, h http.Header) bool { return s == 429 && h.Get("Retry-After") == "30" }},
		{"redirect=login:http://127.0.0.1:9/x", 0, func(s int, _ string, h http.Header) bool {
			return s == 302 && h.Get("Location") == "http://127.0.0.1:9/x"
		}},
		{"rubbish=login", 1, func(s int, b string, h http.Header) bool {
			return s == 200 && strings.HasPrefix(b, "<!doctype") && h.Get("Content-Type") == "text/html"
		}},
		{"huge=login:1048576", 1, func(s int, b string, _ http.Header) bool {
			return s == 200 && len(b) > 1<<20 && json.Valid([]byte(b))
		}},
		{"blank=login", 1, func(s int, b string, _ http.Header) bool { return strings.Contains(b, `"accessToken":""`) }},
		{"omit=login:refreshToken", 1, func(s int, b string, _ http.Header) bool {
			return strings.Contains(b, "accessToken") && !strings.Contains(b, "refreshToken")
		}},
	} {
		t.Run(tt.spec, func(t *testing.T) {
			both(t, faulty.Options{Options: sandbox.Options{Operations: 1}, Faults: faults(t, tt.spec)},
				func(t *testing.T, s *faulty.Service, c *client) {
					status, body, header, err := c.try()
					if err != nil || !tt.check(status, string(body), header) {
						t.Errorf("%d %.100s %v %v", status, body, header, err)
					}
					if n := logins(t, s); n != tt.processed {
						t.Errorf("%d processed, want %d", n, tt.processed)
					}
				})
		})
	}
}

func TestFaultCounts(t *testing.T) {
	s := openFaulty(t, faulty.Options{Options: sandbox.Options{Operations: 1}, Faults: faults(t, "status=login:500:3#2")})
	c := connect(t, s)
	c.http.Transport = s.Transport()
	var got []int
	for range 12 {
		status, _, _, err := c.try()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, status)
	}
	for i, status := range got {
		want := 200
		if i == 2 || i == 5 { // every third, at most twice
			want = 500
		}
		if status != want {
			t.Errorf("call %d: %d, want %d", i+1, status, want)
		}
	}
	s.SetFaults(faults(t, "status=login:503"))
	if status, _, _, _ := c.try(); status != 503 {
		t.Errorf("after a change at run time: %d", status)
	}
	if r := c.do("PUT", "/sandbox/faults", map[string]string{"spec": "x"}); r.status != 400 {
		t.Errorf("broken spec: %d", r.status)
	}
	s.SetFaults(faults(t, ""))
	if status, _, _, _ := c.try(); status != 200 {
		t.Errorf("after the end of faults: %d", status)
	}
}

func TestFaultTargets(t *testing.T) {
	s := openFaulty(t, faulty.Options{Faults: faults(t, "status=remove:500,status=write:502#1")})
	c := connect(t, s)
	c.http.Transport = s.Transport()
	if status, _, _, _ := c.try(); status != 502 {
		t.Errorf("the first write: %d", status)
	}
	c.login()
	o := c.operation(0)
	if r := c.do("DELETE", path(o["opid"].(string), documents(o)[0]["guid"].(string)), nil); r.status != 500 {
		t.Errorf("remove: %d", r.status)
	}
	if n := len(documents(c.operation(0))); n != 3 {
		t.Errorf("status faults must not process: %d documents left", n)
	}
}

func TestLagAndSkew(t *testing.T) {
	at := newClock()
	s := openFaulty(t, faulty.Options{Options: sandbox.Options{Now: at.now}, Faults: faults(t, "lag=1.5s,skew=-40s")})
	c := connect(t, s).login()
	if c.alive() {
		t.Error("a fresh token must be unknown for a while")
	}
	at.advance(1500 * time.Millisecond)
	r := c.do("GET", anyCall, nil)
	if r.status != 200 {
		t.Errorf("after the lag: %d", r.status)
	}
	reported, err := http.ParseTime(r.header.Get("Date"))
	if err != nil || at.now().Add(-40*time.Second).Sub(reported).Abs() > time.Second {
		t.Errorf("Date %v, %v", reported, err)
	}
}

// TestDelays runs on virtual time.
func TestDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := faulty.Open(t.Context(), faulty.Options{Options: sandbox.Options{Operations: 1}, Faults: faults(t, "delay=login:2s,late=login:3s")})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c := connect(t, s)
		start := time.Now()
		if status, _, _, err := c.try(); status != 200 || err != nil || time.Since(start) != 5*time.Second {
			t.Errorf("%d %v after %v", status, err, time.Since(start))
		}
		// A caller that leaves while the answer is late: it was processed all the same.
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, "POST", c.base+"/v2/auth/login",
			strings.NewReader(`{"login":"machine@sandbox","password":"sandbox"}`))
		r.Header.Set("Content-Type", "application/json")
		if _, err := s.Transport().RoundTrip(r); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if n := logins(t, s); n != 2 {
			t.Errorf("%d logins, want 2", n)
		}
		// A caller that leaves before that: it was not.
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r = r.Clone(soon)
		r.Body, _ = r.GetBody()
		if _, err := s.Transport().RoundTrip(r); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
		if n := logins(t, s); n != 2 {
			t.Errorf("%d logins, want 2", n)
		}
	})
}
