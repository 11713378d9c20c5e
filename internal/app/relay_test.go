package app

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"opdeck/api"
)

// TestWhatCannotBeMaskedIsRefused: only plain JSON passes to a role that may not reveal.
func TestWhatCannotBeMaskedIsRefused(t *testing.T) {
	const secretIn = `{"account":{"number":"12345678904321"}}`
	for body, passes := range map[string]bool{
		secretIn: true, "": true, `[]`: true, `"text"`: true, `{"message":"no [account] 7"}`: true,
		"\xef\xbb\xbf" + secretIn: false, secretIn + "\n" + secretIn: false, secretIn[:20]: false,
		"<a>12345678904321</a>":  false,
		"account 12345678904321": false, `{"payload":"{\"number\":\"12345678904321\"}"}`: false,
		`["[{\"number\":\"1\"}]"]`: false,
	} {
		out := &api.Relayed{Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}}
		err := maskBody("read", api.Viewer, out)
		if (err == nil) != passes {
			t.Errorf("%q: %v", body, err)
			continue
		}
		if err != nil {
			if e := api.AsError(err); e.Kind != api.Refused || strings.Contains(e.Public, "1234") {
				t.Errorf("%q: %v", body, err)
			}
			continue
		}
		if got, _ := io.ReadAll(out.Body); strings.Contains(string(got), "12345678904321") {
			t.Errorf("%q passes as %q", body, got)
		}
	}
}
