package session

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"opdeck/api/limit"
	"opdeck/api/secret"
)

// manager is one on a memory store whose logins go to address.
func manager(t *testing.T, address string, conf *tls.Config) *Manager {
	t.Helper()
	key, err := NormalKey(address, "m")
	if err != nil {
		t.Fatal(err)
	}
	store := NewMemory(SystemClock())
	limits, err := limit.New(limit.Config{Store: store, Key: key, Policy: limit.Wait, MaxWait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(Config{BaseURL: address, Account: "m", Store: store, Limits: limits, Auth: NewAuthTransport(conf, nil),
		Random:   func() float64 { return 0 },
		Password: func(context.Context) (secret.Value, error) { return secret.New("pw"), nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	return m
}

// secured serves over TLS and says who signed its certificate.
func secured(t *testing.T, change func(*httptest.Server), h http.HandlerFunc) (s *httptest.Server,
	trusting *tls.Config) {
	t.Helper()
	s = httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = discardLog()
	if change != nil {
		change(s)
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return s, &tls.Config{RootCAs: pool}
}

// What no further try mends ends the waiting of a person at once, in a sentence that
// says what it is, with one login tried.
func TestPermanentFaults(t *testing.T) {
	never := func(http.ResponseWriter, *http.Request) {}
	plain := httptest.NewServer(http.HandlerFunc(never))
	t.Cleanup(plain.Close)
	good, trusting := secured(t, nil, never)
	old, oldTrust := secured(t, func(s *httptest.Server) {
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	}, never)
	away := httptest.NewServer(http.RedirectHandler("https://elsewhere.example/", http.StatusFound))
	t.Cleanup(away.Close)
	long := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 100 {
			_, _ = w.Write(make([]byte, 4096))
		}
	}))
	t.Cleanup(long.Close)
	late := trusting.Clone()
	late.Time = func() time.Time { return time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		address string
		conf    *tls.Config
		want    string
	}{
		"unknown authority": {good.URL, &tls.Config{}, faultAuthority},
		"another name":      {strings.Replace(good.URL, "127.0.0.1", "localhost", 1), trusting, faultName},
		"expired":           {good.URL, late, faultTime},
		"TLS 1.1":           {old.URL, &tls.Config{RootCAs: oldTrust.RootCAs, MinVersion: tls.VersionTLS12}, faultHandshake},
		"no TLS":            {"https://" + strings.TrimPrefix(plain.URL, "http://"), &tls.Config{}, faultHandshake},
		"redirect": {away.URL, nil, "the service redirects the login to " +
			"https://elsewhere.example/, which opdeck does not follow"},
		"too long": {long.URL, nil, faultTooLong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := manager(t, c.address, c.conf)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := m.Do(ctx, Route{Class: limit.Billing}, func(context.Context, Access) (int, http.Header, error) {
				t.Error("a call was sent")
				return 0, nil, nil
			})
			var e *Error
			if !errors.As(err, &e) || e.Kind != ServiceUnavailable || e.Public != c.want {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if ctx.Err() != nil {
				t.Error("somebody was kept waiting")
			}
			events, err := m.store.Events(ctx, m.key, 0, 100)
			if err != nil || len(events) != 1 {
				t.Errorf("%d tries, %v", len(events), err)
			}
			// A caller that arrives before the next try gets the last one's error.
			if again := m.faultBefore(ctx, failAtOnce); again == nil ||
				!strings.HasPrefix(again.Public, c.want+"; last try at ") || again.RetryAfter != failAtOnce {
				t.Errorf("%v", again)
			}
			if again := m.faultBefore(ctx, failAtOnce-1); again != nil {
				t.Errorf("told although the next try is near: %v", again)
			}
		})
	}
}

// Background work keeps its back-off and does not learn of it.
func TestPermanentFaultsInTheBackground(t *testing.T) {
	good, _ := secured(t, nil, func(http.ResponseWriter, *http.Request) {})
	m := manager(t, good.URL, &tls.Config{})
	ctx, cancel := context.WithTimeout(limit.Background(t.Context()), 1200*time.Millisecond)
	defer cancel()
	err := m.Do(ctx, Route{Class: limit.Billing}, func(context.Context, Access) (int, http.Header, error) { return 200, nil, nil })
	var e *Error
	if !errors.As(err, &e) || e.Kind != TimedOut && e.RetryAfter == 0 || e.permanent {
		t.Errorf("%v", err)
	}
	events, err := m.store.Events(context.Background(), m.key, 0, 100)
	if n := len(events); err != nil || n == 0 || n > 4 {
		t.Errorf("%d tries in 1.2 s, %v", n, err)
	}
}

// What may pass is no permanent fault, and no sentence shows what the other side sent.
func TestWhatIsPermanent(t *testing.T) {
	for _, err := range []error{nil, errors.New("x"), context.DeadlineExceeded,
		&net.OpError{Op: "dial", Err: errors.New("refused")}, &net.DNSError{}} {
		if s, ok := Permanent(err); ok {
			t.Errorf("%v: %s", err, s)
		}
	}
	hostile := x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"\x1b[2Jevil"}}, Host: "h"}
	if s, ok := Permanent(fmt.Errorf("around: %w", hostile)); !ok || strings.Contains(s, "evil") {
		t.Errorf("%q, %v", s, ok)
	}
}
