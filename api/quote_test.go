package api

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestTheServicesWordsStandOnce: what it says is quoted, unless our sentence has it.
func TestTheServicesWordsStandOnce(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		quoted bool
	}{
		{429, `{"error":"Too many requests"}`, false},
		{429, `{"message":"too many requests."}`, false},
		{429, `{"error":"Twelve calls a minute"}`, true},
		{403, `{"error":"Not for you"}`, true},
		{404, `{"error":"no such"}`, true}, // words that our sentence happens to hold
		{500, `{"error":"..."}`, false},
		{500, `{}`, false},
	} {
		e := Classify("list operations", c.status, []byte(c.body))
		said := Said([]byte(c.body))
		if strings.Contains(e.Public, "It says: ") != c.quoted || c.quoted && !strings.HasSuffix(e.Public, said) {
			t.Errorf("%d %s: %q", c.status, c.body, e.Public)
		}
		if own := e.Own(); own == "" || !strings.HasPrefix(e.Public, own) || (own != e.Public) != c.quoted {
			t.Errorf("%d %s: our own sentence is %q", c.status, c.body, own)
		}
	}
}

// TestWaitsAndPlaces: the sentence says what the service asked for and what opdeck does, and where a
// redirection leads, before the service's own words.
func TestWaitsAndPlaces(t *testing.T) {
	for _, c := range []struct {
		status int
		header http.Header
		want   string
		wait   time.Duration
	}{
		{429, http.Header{}, "too many requests). It does not say how long to wait; opdeck waits 1m. It says: no", time.Minute},
		{429, http.Header{"Retry-After": {"30"}}, "It asks to wait 30s, and opdeck waits. It says: no", 30 * time.Second},
		{429, http.Header{"Retry-After": {"86400"}}, "It asks to wait 24h 00m; opdeck waits 5m. It says: no", 5 * time.Minute},
		{503, http.Header{"Retry-After": {"30"}}, "The service failed (503). It asks to wait 30s. It says: no", 30 * time.Second},
		{503, http.Header{}, "The service failed (503). It says: no", 0},
		{503, http.Header{"Retry-After": {"Thu, 01 Jan 2026 00:00:45 GMT"}, "Date": {"Thu, 01 Jan 2026 00:00:00 GMT"}},
			"It asks to wait 45s.", 45 * time.Second},
		{302, http.Header{"Location": {"https://user:pw@other.example/v2/x?token=secret#f"}},
			"follows no redirects. The target is https://other.example/v2/x. It says: no", 0},
		{302, http.Header{}, "The target is an address that it does not name.", 0},
		{302, http.Header{"Location": {"/a\x1b[2J/eyJhbGciOiJIUzI1NiJ9eyJhbGciOiJIUzI1NiJ9eyJ"}}, "The target is an address", 0},
		{302, http.Header{"Location": {"/a/eyJhbGciOiJIUzI1NiJ9eyJhbGciOiJIUzI1NiJ9eyJ"}}, "The target is /a/….", 0},
	} {
		a := Answer{Status: c.status, Header: c.header, Body: []byte(`{"error":"no"}`)}
		e := AsError(new(Client).fault(t.Context(), Request{Op: "read"}, a, nil))
		if !strings.Contains(e.Public, c.want) || e.RetryAfter != c.wait || strings.ContainsAny(e.Public, "\x1b") {
			t.Errorf("%d %v: %q, %s", c.status, c.header, e.Public, e.RetryAfter)
		}
	}
}

// The service's own messages are recognised as the whole body too, as plain text or as a JSON text; other texts may
// be those of someone on the way.
func TestBareMessages(t *testing.T) {
	for body, want := range map[string]Rule{
		"Document is locked and cannot be removed":          RuleLocked,
		`"Document is locked and cannot be removed"`:        RuleLocked,
		"\xef\xbb\xbf\"Operation not found: 1\"\n":          RuleOperationUnknown,
		"Cannot modify documents for completed operations.": RuleEndState,
		"<html>Document is locked and cannot be removed":    "",
		"upstream error: Operation not found":               "",
		"no route to host":                                  "",
	} {
		if got := Classify("x", 409, []byte(body)); got.Rule != want {
			t.Errorf("%q has the rule %q: %s", body, got.Rule, got.Public)
		}
	}
}
