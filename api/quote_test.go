package api

import (
	"strings"
	"testing"
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
