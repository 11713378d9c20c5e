package session

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"opdeck/api/limit"
	"opdeck/api/reach"
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

// TestPermanentFaults: a fault that no retry ends fails a person's call at once, by name, with one login tried.
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
	gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
	t.Cleanup(gone.Close)
	late := trusting.Clone()
	late.Time = func() time.Time { return time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		address string
		conf    *tls.Config
		want    reach.Class
	}{
		"unknown authority": {good.URL, &tls.Config{}, reach.TLSIssuer},
		"another name":      {strings.Replace(good.URL, "127.0.0.1", "localhost", 1), trusting, reach.TLSName},
		"expired":           {good.URL, late, reach.TLSExpired},
		"TLS 1.1":           {old.URL, &tls.Config{RootCAs: oldTrust.RootCAs, MinVersion: tls.VersionTLS12}, reach.TLSVersion},
		"no TLS":            {"https://" + strings.TrimPrefix(plain.URL, "http://"), &tls.Config{}, reach.PlainHTTP},
		"redirect":          {away.URL, nil, reach.Moved},
		"gone":              {gone.URL, nil, reach.Gone},
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
			if !errors.As(err, &e) || e.Kind != ServiceUnavailable || e.Fault.Class != c.want {
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
			if again := m.faultBefore(ctx, failAtOnce); again == nil || again.Fault.Class != c.want ||
				again.RetryAfter != failAtOnce {
				t.Errorf("%v", again)
			}
			if again := m.faultBefore(ctx, failAtOnce-1); again != nil {
				t.Errorf("an error although the next try is near: %v", again)
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
	if !errors.As(err, &e) || e.Kind != TimedOut && e.RetryAfter == 0 || isPermanent(err) {
		t.Errorf("%v", err)
	}
	events, err := m.store.Events(context.Background(), m.key, 0, 100)
	if n := len(events); err != nil || n == 0 || n > 4 {
		t.Errorf("%d tries in 1.2 s, %v", n, err)
	}
}

// TestAWaitTakesNoFaultsPlace: the fault of an error is that of the newest attempt that was made, whichever process
// made it, until one succeeds or the session is reset.
func TestAWaitTakesNoFaultsPlace(t *testing.T) {
	m := manager(t, "http://127.0.0.1:1", nil)
	ctx := t.Context()
	for _, step := range []struct {
		e    Event
		want reach.Class
	}{
		{Event{Kind: EventLogin, Outcome: NoSlot}, reach.None},
		{Event{Kind: EventLogin, Outcome: NotSent, Fault: reach.Fault{Class: reach.NoName}}, reach.NoName},
		{Event{Kind: EventLogin, Outcome: NoSlot}, reach.NoName},
		{Event{Kind: EventLogin, Outcome: Aborted}, reach.NoName},
		{Event{Kind: EventUnauthorized}, reach.NoName},
		{Event{Kind: EventRefresh, Outcome: Unknown, Fault: reach.Fault{Class: reach.Gateway}}, reach.Gateway},
		{Event{Kind: EventReset}, reach.None},
		{Event{Kind: EventLogin, Outcome: Refused, Fault: reach.Fault{Class: reach.Locked}}, reach.Locked},
		{Event{Kind: EventLogin, Outcome: OK}, reach.None},
	} {
		if err := m.store.Log(ctx, m.key, step.e); err != nil {
			t.Fatal(err)
		}
		if got := m.notYet(ctx, time.Second).Fault.Class; got != step.want {
			t.Errorf("after %s %s: %q, want %q", step.e.Kind, step.e.Outcome, got, step.want)
		}
	}
}
