package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

const found = "eyJ0b2tlbi9tYXJrZXI+/a+b=.sig-MARKER_0123456789"

// everyChar writes each character of s in one way.
func everyChar(s, as string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, as, c)
	}
	return b.String()
}

// written are spellings of s that a reader decodes to s.
func written(s string) map[string]string {
	inner, _ := json.Marshal(map[string]string{"x": everyChar(s, `\u%04x`)})
	once, _ := json.Marshal(s + "<>&")
	out := map[string]string{"plain": s, "JSON": string(once), "slashes": strings.ReplaceAll(s, "/", `\/`), "\\u": everyChar(s, `\u%04x`),
		"\\U": everyChar(s, `\u%04X`), "one \\u": fmt.Sprintf(`\u%04x`, s[0]) + s[1:], "JSON in JSON": string(inner),
		"query": url.QueryEscape(s), "path": url.PathEscape(s), "all %": everyChar(s, "%%%02X"), "twice %": everyChar(s, "%%25%02x"),
		"decimal HTML": everyChar(s, "&#%d;"), "HTML": everyChar(s, "&#x%x;"), "UTF-16LE": everyChar(s, "%c\x00"), "UTF-16BE": everyChar(s, "\x00%c"),
		"hex": hex.EncodeToString([]byte(s)), "mixed": everyChar(s[:9], `\u%04x`) + everyChar(s[9:20], "%%%02x") + s[20:]}
	for n := range 4 {
		text := strings.Repeat("x", n) + s + "yy"
		out[fmt.Sprint("base64 after ", n)] = base64.StdEncoding.EncodeToString([]byte(text))
		out[fmt.Sprint("base64url after ", n)] = base64.RawURLEncoding.EncodeToString([]byte(text))
		out[fmt.Sprint("base64 in URL after ", n)] = url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(text)))
	}
	return out
}

// TestFinder: a secret is found and hidden in every spelling, and nothing else is changed.
func TestFinder(t *testing.T) {
	f := Find(New(found), New("short"), Value{})
	for name, text := range written(found) {
		b := []byte(`{"a":"` + text + `"} and short`)
		if !f.Hide(b) || f.Hide(b) || !strings.HasPrefix(string(b), `{"a":"`) || !strings.HasSuffix(string(b), `"} and short`) {
			t.Errorf("%s: %s", name, b)
		}
		if strings.Count(string(b), "*") < len(found) {
			t.Errorf("%s: %s", name, b)
		}
		if f.Longest() < len(text) {
			t.Errorf("%s is longer than %d", name, f.Longest())
		}
	}
	for _, text := range []string{"", found[1:], found[:len(found)-1], "eyJ0 and %65yJ &amp; \\u0065", "\\", "%", "&", "\\u00"} {
		if b := []byte(text); f.Hide(b) || string(b) != text {
			t.Errorf("%q became %q", text, b)
		}
	}
	if Find(New("short")).In("short") || Find().Longest() != 0 {
		t.Error("a short secret is searched for")
	}
}

// FuzzFinder: whatever is around it, a spelling is found, and Hide keeps the length.
func FuzzFinder(f *testing.F) {
	f.Add("before", "after", uint(3))
	f.Fuzz(func(t *testing.T, before, after string, n uint) {
		all := written(found)
		names := make([]string, 0, len(all))
		for name := range all {
			names = append(names, name)
		}
		b := []byte(before + " " + all[names[n%uint(len(names))]] + " " + after)
		have := len(b)
		if !Find(New(found)).Hide(b) || len(b) != have || strings.Contains(string(b), found) {
			t.Fatalf("%q", b)
		}
	})
}
