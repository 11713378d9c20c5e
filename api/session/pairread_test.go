package session

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"opdeck/api/limit"
	"opdeck/api/secret"
)

func gzipped(s string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return out.String()
}

// TestLoginShapes: the answer to a login is read in its documented form, under the usual other names, and under the
// names that the config gives. For those that are not read: TestAnUnreadLoginIsSentOnce.
func TestLoginShapes(t *testing.T) {
	const good = `{"accessToken":"acc","refreshToken":"ref","accessTtl":300,"refreshTtl":900}`
	for name, c := range map[string]struct {
		body   string
		header http.Header
		names  Names

		assumed string // tokens whose lifetime is assumed
	}{
		"documented":       {body: good},
		"snake case":       {body: `{"access_token":"acc","refresh_token":"ref","expires_in":300,"refresh_expires_in":900}`},
		"mark":             {body: "\xef\xbb\xbf" + good},
		"gzip":             {body: gzipped(good), header: http.Header{"Content-Encoding": {"gzip"}}},
		"text/plain":       {body: good, header: http.Header{"Content-Type": {"text/plain"}}},
		"no lifetimes":     {body: `{"accessToken":"acc","refreshToken":"ref"}`, assumed: "access refresh"},
		"lifetime as text": {body: `{"accessToken":"acc","refreshToken":"ref","accessTtl":"60s","refreshTtl":900}`, assumed: "access"},
		"names that were set": {body: `{"pass":{"a":"acc","b":"ref"},"left":300}`,
			names: Names{Access: "pass.a", Refresh: "pass.b", AccessTTL: "left"}, assumed: "refresh"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				for k, v := range c.header {
					w.Header()[k] = v
				}
				_, _ = fmt.Fprint(w, c.body)
			}))
			defer server.Close()
			m := manager(t, server.URL, nil)
			m.auth.names, m.cfg.Names = c.names, c.names
			var got string
			err := m.Do(t.Context(), Route{Class: limit.General}, func(_ context.Context, a Access) (int, http.Header, error) {
				got = a.Token.Reveal()
				return 200, nil, nil
			})
			row, _, _ := m.load(t.Context())
			if err != nil || got != "acc" || !row.Refresh.Equal(secret.New("ref")) ||
				(row.AccessTTL-5*time.Minute).Abs() > 2*time.Second {
				t.Fatalf("%q, %q, %s, %v", got, row.Refresh.Reveal(), row.AccessTTL, err)
			}
			s, err := m.Status(t.Context())
			if err != nil || s.Access.Assumed != strings.Contains(c.assumed, "access") ||
				s.Refresh.Assumed != strings.Contains(c.assumed, "refresh") {
				t.Errorf("%+v, %+v, %v", s.Access, s.Refresh, err)
			}
		})
	}
}

// TestSpoiltRefresh: a refresh that is answered in any other way costs one login and no error, and the
// history says what was spoilt.
func TestSpoiltRefresh(t *testing.T) {
	const good = `{"accessToken":"acc%d","refreshToken":"ref%d","accessTtl":300,"refreshTtl":900}`
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		says   string
	}{
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example"+r.URL.Path+"?q=secret", http.StatusFound)
		}, "a redirection (https://elsewhere.example/v2/auth/refresh/…), HTTP status 302"},
		"without a place": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusSeeOther) }, "does not name"},
		"page":            {func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>") }, "a web page"},
		"empty":           {func(http.ResponseWriter, *http.Request) {}, "it is empty"},
		"no content":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "it is empty"},
		"another shape":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"ticket":1}`) }, "no access token under a known name"},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = fmt.Fprint(w, `{"access`)
		}, "cut off"},
		"too long": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 100<<10)) }, "longer than an answer"},
		"failed":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "a gateway got no answer from the service, HTTP status 502"},
	} {
		t.Run(name, func(t *testing.T) {
			logins, refreshes := 0, 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					refreshes++
					c.answer(w, r)
					return
				}
				logins++
				_, _ = fmt.Fprintf(w, good, logins, logins)
			}))
			defer server.Close()
			m := manager(t, server.URL, nil)
			call := func() {
				t.Helper()
				err := m.Do(t.Context(), Route{Class: limit.General}, func(context.Context, Access) (int, http.Header, error) {
					return 200, nil, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
			call()
			if err := m.Refresh(t.Context()); err != nil { // by hand, so that the result is reported to a person
				t.Error(err)
			}
			call()
			call()
			events, err := m.store.Events(t.Context(), m.key, 0, 100)
			said := ""
			for _, e := range events {
				if e.Kind == EventRefresh {
					said += e.Fault.String() + ", " + e.Detail
				}
			}
			if err != nil || logins != 2 || refreshes != 1 || !strings.Contains(said, c.says) ||
				strings.Contains(said, "ref1") || strings.Contains(said, "secret") {
				t.Errorf("%d logins, %d refreshes, %q, %v", logins, refreshes, said, err)
			}
		})
	}
}
