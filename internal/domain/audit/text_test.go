package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"opdeck/api"
	"opdeck/internal/domain/audit"
)

func TestHostileTextIsOneQuotedBoundedRecord(t *testing.T) {
	hostile := []string{
		"two\nlines", "esc \x1b[2J\x1b]52;c;ZXZpbA==\x07", "line\u2028separator", "right\u202eto left", "c1 \u009b2J",
		"broken \xff\xfe",
		strings.Repeat("A", 1<<20), strings.Repeat("ä", 1<<20), `","actor":{"name":"eve"},"x":"`, "\"quoted\" \\ ",
		"nul \x00",
	}
	m := &memory{}
	l := newLog(t, audit.Options{Store: m, Context: audit.Context{Account: "m\n"}})
	for _, h := range hostile {
		who := api.Actor{Name: h, Role: api.Role(h), Via: h, From: h, Key: h, Session: h}
		a := api.Act{Kind: act.Kind, Method: h, Path: h, Object: h, ID: h, Item: h, Name: h, Summary: h, Reason: h, Seen: h,
			SecretDigest: h}
		ref, err := l.Intent(context.Background(), who, a)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Outcome(context.Background(), ref, api.Outcome{Verdict: api.Failed, Rule: api.Rule(h), Detail: h,
			RequestID: h}); err != nil {
			t.Fatal(err)
		}
		if err := l.Note(context.Background(), who, api.Event{Name: h, Object: h, ID: h, Detail: h}); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range m.rows {
		if len(r.Bytes) > 100_000 {
			t.Errorf("record %d has %d bytes", i+1, len(r.Bytes))
		}
		for _, c := range r.Bytes {
			if c < ' ' || c > '~' {
				t.Errorf("record %d holds the byte %#x", i+1, c)
				break
			}
		}
	}
	if r := verified(t, m); !r.Intact() || r.Records != int64(3*len(hostile)) {
		t.Errorf("%+v", r)
	}
	var first audit.Record
	if err := json.Unmarshal(m.rows[0].Bytes, &first); err != nil {
		t.Fatal(err)
	}
	if got := audit.Unquote(first.Reason); got != "two\nlines" {
		t.Errorf("read back as %q", string(got))
	}
}

func FuzzBounded(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b[2J")
	f.Add("\"")
	f.Add(strings.Repeat("é", 999))
	f.Fuzz(func(t *testing.T, s string) {
		got := audit.Bounded(s, 100)
		if len(got) > 10*140+2 {
			t.Fatalf("%d bytes", len(got))
		}
		for i := range len(got) {
			if got[i] < ' ' || got[i] > '~' {
				t.Fatalf("byte %#x", got[i])
			}
		}
		if back := string(audit.Unquote(got)); utf8.ValidString(s) && len(s) <= 100 && !strings.Contains(got, "***") &&
			back != s {
			t.Fatalf("%q comes back as %q", s, back)
		}
	})
}

func TestNoSecrets(t *testing.T) {
	jwt := "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJlLWNhbmFyeQ"
	for in, want := range map[string]string{
		"GET /v2/auth/refresh/canary-token failed":       "GET /v2/auth/refresh/*** failed",
		"Authorization: Bearer canary.token":             "Authorization: *** ***",
		"answer " + jwt + " refused":                     "answer *** refused",
		`{"refreshToken":"canary","password": "canary"}`: `"{\"refreshToken\":\"***\",\"password\": \"***\"}"`,
		"token=canary&x=1":                               "token=***&x=1",
		"to DE89370400440532013000":                      "to ***3000",
		"to GB29 NWBK 6016 1331 9268 19, please":         "to ***6819, please",
		"to gb29nwbk60161331926819":                      "to ***6819",
		"to no93-8601-1117-947 or NO93.8601.1117.947":    "to ***7947 or ***7947",
		"to DE89370400440532013001":                      "to ***3001", // wrong check digits
		"account 40702810900000012345":                   "account ***2345",
		"operation 01a1fd2b-54f8-7047-87a1-691597536428": "operation 01a1fd2b-54f8-7047-87a1-691597536428",
		"ticket 123456":                                  "ticket 123456",
	} {
		if got := audit.Prose(in); got != want {
			t.Errorf("%.60q: %.200q, want %.200q", in, got, want)
		}
	}
	for _, at := range []int{990, 256<<10 - 20, 300 << 10} { // where a text is cut
		if got := audit.Prose(strings.Repeat(" ", at) + jwt); strings.Contains(got, "eyJ") {
			t.Errorf("a token at %d: %.1100q", at, got)
		}
	}
	m := &memory{}
	l := newLog(t, audit.Options{Store: m})
	a := act
	a.Path, a.Body, a.Summary, a.Reason, a.Name = "/v2/auth/refresh/canary", json.RawMessage(`{"token":"canary"}`),
		"token: canary", "password=canary", "secret=canary"
	ref, err := l.Intent(as(ana), ana, a)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Outcome(as(ana), ref, api.Outcome{Verdict: api.Failed, Detail: "Bearer canary"})
	_ = l.Note(as(ana), ana, api.Event{Name: "reveal", Detail: "authorization=canary"})
	for _, r := range m.rows {
		if bytes.Contains(r.Bytes, []byte("canary")) {
			t.Errorf("%s", r.Bytes)
		}
	}
}
