package hook

import (
	"bytes"
	"compress/gzip"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

const form, plainJSON = "application/x-www-form-urlencoded", "application/json"

func zipped(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A delivery is found whatever carries it; each is handed on as it was written.
func TestPartsFindDeliveriesInAnyBody(t *testing.T) {
	const one, two = `{"hook_id":"a", "hook_type":1,"Data":{}}`, `{"hook_type":"2","hook_id":"b"}`
	quoted := strconv.Quote(one)
	for _, c := range []struct {
		name, body, kind, coding string
		want                     []string
	}{
		{"itself", one, plainJSON, "", []string{one}},
		{"batch", "[" + one + "," + two + "]", plainJSON, "", []string{one, two}},
		{"batch in an object", `{"count":2,"events":[` + one + "," + two + "]}", plainJSON, "", []string{one, two}},
		{"batch, each wrapped", `[{"event":` + one + `},{"event":` + two + `}]`, plainJSON, "", []string{one, two}},
		{"wrapped", `{"data":` + one + `}`, plainJSON, "", []string{one}},
		{"gzip", zipped(t, one), plainJSON, "gzip", []string{one}},
		{"byte order mark", "\xef\xbb\xbf" + one, plainJSON, "", []string{one}},
		{"text", one, "text/plain", "", []string{one}},
		{"a JSON text", quoted, plainJSON, "", []string{one}},
		{"form", "payload=" + url.QueryEscape(one) + "&v=1", form, "", []string{one}},
		{"a form without a name", url.QueryEscape(one), form, "", []string{one}},
		{"JSON called a form", one, form, "", []string{one}},
		{"multipart", "--x\r\nContent-Disposition: form-data; name=\"payload\"\r\n\r\n" + one + "\r\n--x--\r\n", "multipart/form-data; boundary=x", "", []string{one}},
	} {
		got, err := Parts([]byte(c.body), c.kind, c.coding, 1<<20)
		var texts []string
		for _, p := range got {
			texts = append(texts, string(p))
		}
		if err != nil || strings.Join(texts, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: %q, %v", c.name, texts, err)
		}
	}
	for name, c := range map[string]struct{ body, kind, coding string }{
		"text":                      {"hello", "text/plain", ""},
		"unknown coding":            {one, plainJSON, "br"},
		"gzip that nobody names":    {zipped(t, one), plainJSON, ""},
		"broken gzip":               {zipped(t, one)[:20], plainJSON, "gzip"},
		"a bomb":                    {zipped(t, strings.Repeat(" ", 2<<20)), plainJSON, "gzip"},
		"another object":            {`{"ping":true}`, plainJSON, ""},
		"a batch with a stranger":   {`[` + one + `,{"ping":true}]`, plainJSON, ""},
		"two places":                {`{"a":` + one + `,"b":` + two + `}`, plainJSON, ""},
		"too many":                  {"[" + strings.Repeat(one+",", MaxParts) + one + "]", plainJSON, ""},
		"two JSON fields of a form": {"a=" + url.QueryEscape(one) + "&b=" + url.QueryEscape(two), form, ""},
	} {
		var no *Unreadable
		if got, err := Parts([]byte(c.body), c.kind, c.coding, 1<<20); !errors.As(err, &no) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
