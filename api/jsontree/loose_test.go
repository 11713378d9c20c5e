package jsontree

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf16"
)

func tree(t *testing.T, s string) Value {
	t.Helper()
	p, err := Parse([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return p.Root()
}

// A member is found whatever the case and separators of its name and whatever wraps it; the exact name has priority.
func TestFindInAnyShape(t *testing.T) {
	for body, want := range map[string]string{
		`{"accessToken":"a"}`:          "a",
		`{"access_token":"a"}`:         "a",
		`{"AccessToken":"a"}`:          "a",
		`{"ACCESS-TOKEN":"a"}`:         "a",
		`{"data":{"accessToken":"a"}}`: "a",
		`{"code":0,"msg":"","data":{"item":{"access_token":"a"}}}`:        "a",
		`{"data":{"type":"s","id":"1","attributes":{"accessToken":"a"}}}`: "a",
		`[{"accessToken":"a"}]`:                           "a",
		`{"tokens":{"access":{"token":"a"}}}`:             "a",
		`{"access_token":"b","accessToken":"a"}`:          "a",
		`{"inner":{"accessToken":"b"},"accessToken":"a"}`: "a",
		`{"accessToken":"","data":{"accessToken":"a"}}`:   "a",
		`{"accessToken":null,"jwt":"a"}`:                  "a",
		`{"accessTokenId":"b"}`:                           "",
		`{"a":{"b":{"c":{"d":{"accessToken":"b"}}}}}`:     "",
		`"a"`: "",
	} {
		got, ok := tree(t, body).Find("accessToken", "access.token", "jwt")
		if got != want || ok != (want != "") {
			t.Errorf("%s: %q, %t instead of %q", body, got, ok, want)
		}
	}
}

func TestKeysNameNoValue(t *testing.T) {
	got := tree(t, `{"b":"secret","a":{"x":1},"c":null,"d":[1],"e\u001b[2J":true}`).Keys()
	for _, want := range []string{"“a” (object)", "“b” (text)", "“c” (null)", "“d” (array)", "(true or false)"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if strings.Contains(got, "secret") || strings.Contains(got, "\x1b") {
		t.Errorf("%q holds a value or a control character", got)
	}
}

func packed(t *testing.T, w io.WriteCloser, b *bytes.Buffer, s string) []byte {
	t.Helper()
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What carries a text does not change it: compression, named or not, a byte order mark, UTF-16.
func TestUnpack(t *testing.T) {
	const text = `{"a":"ä"}`
	var z, d bytes.Buffer
	gz, zl := packed(t, gzip.NewWriter(&z), &z, text), packed(t, zlib.NewWriter(&d), &d, text)
	little, big := []byte("\xff\xfe"), []byte("\xfe\xff")
	for _, u := range utf16.Encode([]rune(text)) {
		little, big = append(little, byte(u), byte(u>>8)), append(big, byte(u>>8), byte(u))
	}
	for _, c := range []struct {
		body     []byte
		encoding string
	}{{[]byte(text), ""}, {[]byte(text), "identity"}, {[]byte(text), "gzip"}, {gz, "gzip"}, {gz, ""}, {gz, "X-GZIP"},
		{zl, "deflate"}, {[]byte("\xef\xbb\xbf" + text), ""}, {little, ""}, {big, ""}} {
		if got, err := Unpack(c.body, c.encoding, 100); err != nil || string(got) != text {
			t.Errorf("%q as %q: %q, %v", c.body, c.encoding, got, err)
		}
	}
	var coding *CodingError
	if _, err := Unpack([]byte(text), "br", 100); !errors.As(err, &coding) {
		t.Errorf("br: %v", err)
	}
	if _, err := Unpack(gz, "gzip", 3); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if _, err := Unpack(gz[:len(gz)-9], "gzip", 100); !errors.Is(err, ErrPacked) {
		t.Errorf("cut off: %v", err)
	}
}
