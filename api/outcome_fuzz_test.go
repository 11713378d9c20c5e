package api

import (
	"net/http"
	"testing"
)

// FuzzDecide: no answer makes decide panic, and none is done or refused against
// the rule of statuses.
func FuzzDecide(f *testing.F) {
	for _, b := range []string{``, `{}`, `null`, `[]`, `{"item":{"opid":"o","documents":[]}}`, `{"success":"true","error":{"message":["x"]}}`,
		`{"applied":true,"outstanding":"x"}`, `{"errors":[{"errors":[{"errors":[]}]}]}`, `{"url":"https://x"}`, "\xef\xbb\xbf{\"id\":7}"} {
		f.Add(200, []byte(b))
		f.Add(500, []byte(b))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		for _, kind := range ActKinds() {
			p := Probe{Kind: kind, OPID: "o", GUID: "d", Salt: "s", Leaves: leavesOf(parsed([]byte(`{"individual":{"a":"b"}}`)), "", "s")}
			out, err := decide(p, "op", answer{status: status, sent: true, body: body}, nil)
			if (out.Verdict == Done) != (err == nil) {
				t.Fatalf("%s and %v", out.Verdict, err)
			}
			switch {
			case status == http.StatusUnauthorized:
			case out.Verdict == Done && (status < 200 || status > 299):
				t.Fatalf("%s is done at %d: %s", kind, status, body)
			case out.Verdict == Denied && (never(status) || status == 0):
				t.Fatalf("%s is refused at %d: %s", kind, status, body)
			case out.Verdict == Failed:
				t.Fatalf("what was sent counts as not sent: %s", body)
			}
		}
	})
}

// TestEveryWriteIsDeclared: a write without a rule could never be done.
func TestEveryWriteIsDeclared(t *testing.T) {
	for _, kind := range ActKinds() {
		if rules[kind].shown == nil && !kind.TouchesSession() {
			t.Errorf("%s is not declared beside its call", kind)
		}
	}
}
