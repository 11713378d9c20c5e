package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"opdeck/api/limit"
	"opdeck/api/reach"
	"opdeck/api/secret"
)

// pairJSON is what the service answers to a login; its tokens must never be shown.
const pairJSON = `{"accessToken":"SECRETaccess1","refreshToken":"SECRETrefresh1","accessTtl":300,"refreshTtl":900}`

// unread is a good answer to a login that cannot be read, and what is said of it.
type unread struct {
	header http.Header
	body   string
	says   string
	key    string // under [service]
	cut    bool   // the connection ends before the body does
}

func unreadAnswers() map[string]unread {
	coded := func(name string) http.Header { return http.Header{"Content-Encoding": {name}} }
	return map[string]unread{
		"br":            {coded("br"), "\x0b\x02\x80SECRET\x03", "its Content-Encoding is br", "", false},
		"zstd":          {coded("zstd"), "\x28\xb5\x2f\xfdSECRET", "its Content-Encoding is zstd", "", false},
		"unknown":       {coded("x-other"), pairJSON, "its Content-Encoding is x-other", "", false},
		"zstd, unnamed": {nil, "\x28\xb5\x2f\xfd\x04\x00SECRET", "it begins with the bytes 28 b5 2f fd", "", false},
		"bad gzip":      {coded("gzip"), "\x1f\x8b\x00SECRET", "it cannot be unpacked", "", false},
		"prefix":        {nil, ")]}',\n" + pairJSON, `it is not JSON; it begins with “)]}', {"accessToken":"…`, "", false},
		"loop":          {nil, "while(1);" + pairJSON, `it begins with “while(1);{"accessToken":"…`, "", false},
		"text behind":   {nil, pairJSON + "\nSECRETaccess1 done", "after 97 bytes of JSON it goes on with “…", "", false},
		"NaN":           {nil, strings.Replace(pairJSON, `"SECRETaccess1"`, "NaN", 1), `begins with “{"accessToken":NaN`, "", false},
		"two values":    {nil, pairJSON + pairJSON, "it has two JSON values, the second after 96 bytes", "", false},
		"empty":         {nil, "", "it is empty", "", false},
		"blank":         {nil, " \n", "it is empty", "", false},
		"truncated":     {nil, pairJSON[:40], `it begins with “{"accessToken":"…","…`, "", false},
		"within one":    {nil, pairJSON[:22], `it begins with “{"accessToken":"…"”`, "", false},
		"page": {http.Header{"Content-Type": {"text/html"}}, "<!DOCTYPE html><html><title>SECRET</title>",
			"it is a web page; it begins with “<!DOCTYPE html><html><title>…", "", false},
		"form":         {nil, "access_token=SECRETaccess1&refresh_token=SECRETrefresh1", "“access_token=…&refresh_token=…”", "", false},
		"raw token":    {nil, "eyJhbGciOiJIUzI1NiJ9.SECRET.x", "it is not JSON; it begins with “…”", "", false},
		"XML":          {nil, "<pair><access>SECRET</access></pair>", "“<pair><access>…</access></pair>”", "", false},
		"quotes":       {nil, "{'accessToken': 'SECRET'}", "“{'accessToken': '…'}”", "", false},
		"other names":  {nil, `{"ticket":"SECRETaccess1"}`, "“ticket” (text)", "access_token_field", false},
		"nested names": {nil, `{"data":{"ticket":"SECRETaccess1"}}`, "“data” (object)", "access_token_field", false},
		"wrapped":      {nil, `{"data":` + pairJSON + `}`, "“data” (object)", "access_token_field", false},
		"a list":       {nil, `[` + pairJSON + `]`, "an array of 1", "access_token_field", false},
		"token number": {nil, `{"accessToken":1234567890123,"refreshToken":"r"}`, "“accessToken” (number)", "access_token_field", false},
		"empty object": {nil, `{}`, "an empty object", "access_token_field", false},
		"null":         {nil, `null`, "it contains null", "access_token_field", false},
		"text":         {nil, `"SECRETaccess1"`, "it contains text", "access_token_field", false},
		"list":         {nil, `[]`, "it contains an array of 0", "access_token_field", false},
		"empty token":  {nil, `{"accessToken":"","refreshToken":"SECRET"}`, "no access token", "access_token_field", false},
		"odd token":    {nil, `{"accessToken":"SECRET x","refreshToken":"r","accessTtl":300}`, "cannot be sent in a header", "", false},
		"says":         {nil, `{"error":"Come back tomorrow"}`, "it says “Come back tomorrow”", "", false},
		"too short":    {nil, `{"accessToken":"SECRETaccess1","refreshToken":"SECRET","accessTtl":1}`, "lives for 1s, which is too short for a call", "access_ttl_field", false},
		"status":       {nil, `{"status":"ok"}`, "“status” (text)", "access_token_field", false},
		"refused":      {nil, `{"success":false,"message":"No such login"}`, "it says “No such login”", "", false},
		"from a cache": {http.Header{"Age": {"7"}}, pairJSON, "it comes from a cache", "", false},
		"cut":          {body: pairJSON[:40], says: "it was cut off after 40 bytes; it begins with “{", cut: true},
		"too long":     {nil, pairJSON + strings.Repeat(" ", 80<<10), "it is longer than any answer to a login", "", false},
	}
}

// TestAnUnreadLoginIsSentOnce: an answer with a good status that cannot be read may have made a pair. It counts as a
// login, and no process of the store sends another one for five minutes: not after a restart, and not after a process was
// killed. A new program, other settings or a person's login change that at once.
func TestAnUnreadLoginIsSentOnce(t *testing.T) {
	for name, c := range unreadAnswers() {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { c.play(t) }) })
	}
}

func (c unread) play(t *testing.T) {
	svc, clock := newService(lockedRand(3, 1)), newSimClock()
	var healed bool
	svc.answer = func(a *http.Response) {
		if healed {
			return
		}
		for k, v := range c.header {
			a.Header[k] = v
		}
		var body io.Reader = strings.NewReader(c.body)
		if c.cut {
			body = io.MultiReader(body, iotest.ErrReader(io.ErrUnexpectedEOF))
		}
		a.Body = io.NopCloser(body)
	}
	store := NewMemory(clock)
	start := time.Now()
	var made atomic.Uint64
	process := func(change func(*Config)) *Manager {
		return simManager(t, store, clock, svc, 3, 100+made.Add(1), change)
	}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			rnd := lockedRand(3, uint64(200+i))
			for time.Since(start) < 240*time.Second {
				m := process(nil) // one call each; every second one is killed, and never says that it has left
				err := oneCall(m, svc, rnd)
				var e *Error
				if !errors.As(err, &e) || e.Kind != LoginUnreadable || e.RetryAfter <= 0 || e.Fault.Class != reach.Unreadable ||
					!strings.Contains(e.Fault.Said, c.says) || e.Fault.Key != c.key || strings.Contains(fmt.Sprint(e, e.Fault), "SECRET") {
					t.Errorf("after %s: %v", time.Since(start), err)
					return
				}
				if rnd.IntN(2) == 0 {
					_ = m.Close(context.Background())
				}
				time.Sleep(time.Duration(rnd.Int64N(int64(20 * time.Second))))
			}
		})
	}
	wg.Wait()
	m := process(nil)
	sent := func(what string, want int) {
		t.Helper()
		s, err := m.Status(t.Context())
		if err != nil || len(svc.logins) != want || s.Counts.Logins != int64(want) || s.State != "blocked" {
			t.Errorf("%s: %d logins, the status counts %d in state %s, %v", what, len(svc.logins), s.Counts.Logins, s.State, err)
		}
		if text := fmt.Sprintf("%+v", s); strings.Contains(text, "SECRET") || !strings.Contains(text, c.says) {
			t.Errorf("%s: %.2000s", what, text)
		}
	}
	sent("within five minutes", 1)
	rnd := lockedRand(3, 999)
	for i, change := range []func(*Config){
		func(cfg *Config) { cfg.Settings = "other" },
		func(cfg *Config) { cfg.Owner.Version = "2" },
		func(cfg *Config) { cfg.Names.Access = "other" },
	} {
		for range 3 {
			_ = oneCall(process(change), svc, rnd)
		}
		sent("another config or program", 2+i)
	}
	_ = oneCall(process(func(cfg *Config) {
		cfg.Password = func(context.Context) (secret.Value, error) { return secret.New("another"), nil }
	}), svc, rnd)
	_ = m.Refresh(t.Context())
	sent("another password, or a refresh", 4)
	if err := m.Login(t.Context()); err == nil {
		t.Error("a login by a person is answered with nothing wrong")
	}
	sent("a person's login", 5)
	time.Sleep(295 * time.Second)
	_ = oneCall(process(nil), svc, rnd)
	sent("before five minutes have passed again", 5)
	healed = true
	if err := m.Login(t.Context()); err != nil { // a login that is read ends it
		t.Error(err)
	}
	svc.foreignLogin()
	if err := oneCall(m, svc, rnd); err != nil || len(svc.logins) != 7 {
		t.Errorf("after a login that was read: %d logins, %v", len(svc.logins), err)
	}
	if n := svc.calls[limit.General]; len(n) == 0 {
		t.Error("no call came through")
	}
}

// TestTheNextLogin: five minutes after an answer that could not be read, the processes of a store log in once more.
func TestTheNextLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc, clock := newService(lockedRand(4, 1)), newSimClock()
		svc.answer = func(a *http.Response) { a.Body = io.NopCloser(strings.NewReader("<html>")) }
		store, start := NewMemory(clock), time.Now()
		var wg sync.WaitGroup
		for i := range 8 {
			m := simManager(t, store, clock, svc, 4, uint64(100+i), nil)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour-time.Second)
			defer cancel()
			wg.Go(func() { _ = m.Keep(ctx) })
		}
		wg.Wait()
		if n := len(svc.logins); n < 10 || n > 12 {
			t.Errorf("%d logins in an hour", n)
		}
		for i := 1; i < len(svc.logins); i++ {
			if gap := svc.logins[i].Sub(svc.logins[i-1]); gap < 5*time.Minute {
				t.Errorf("%s after the one before, at %s", gap, svc.logins[i].Sub(start))
			}
		}
	})
}
