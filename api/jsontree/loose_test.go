package jsontree

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
)

func tree(t *testing.T, s string) Value {
	t.Helper()
	p, err := Parse([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A member is found under exactly its name, in the object or in what wraps every answer in the same way: item, data, an
// array of one element.
func TestFindInWhatWraps(t *testing.T) {
	for body, want := range map[string]string{
		`{"accessToken":"a"}`:                                     "a",
		`{"data":{"accessToken":"a"}}`:                            "a",
		`{"code":0,"msg":"","data":{"item":{"accessToken":"a"}}}`: "a",
		`[{"accessToken":"a"}]`:                                   "a",
		`{"item":[{"accessToken":"a"}]}`:                          "a",
		`{"access":{"token":"a"}}`:                                "a",
		`{"access_token":"b","accessToken":"a"}`:                  "a",
		`{"item":{"accessToken":"b"},"accessToken":"a"}`:          "a",
		`{"accessToken":"","data":{"accessToken":"a"}}`:           "a",
		`{"accessToken":null,"jwt":"a"}`:                          "a",
		`{"accessTokenId":"b"}`:                                   "",
		`{"access_token":"b"}`:                                    "",
		`{"AccessToken":"b"}`:                                     "",
		`{"ACCESS-TOKEN":"b"}`:                                    "",
		`{"result":{"accessToken":"b"}}`:                          "",
		`{"data":{"attributes":{"accessToken":"b"}}}`:             "",
		`{"tokens":{"access":{"token":"b"}}}`:                     "",
		`[{"accessToken":"b"},{"accessToken":"b"}]`:               "",
		`{"data":{"data":{"data":{"accessToken":"b"}}}}`:          "",
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

// Unpack undoes gzip that is named, and a byte order mark; any other coding is refused by its name, and any other
// text stays as it is.
func TestUnpack(t *testing.T) {
	const text = `{"a":"ä"}`
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	gz := z.Bytes()
	for _, c := range []struct {
		body           []byte
		encoding, want string
	}{{[]byte(text), "", text}, {[]byte(text), "identity", text}, {[]byte(text), "gzip", text}, {gz, "gzip", text},
		{gz, " X-GZIP", text}, {[]byte("\xef\xbb\xbf" + text), "", text}, {gz, "", string(gz)},
		{[]byte("\xff\xfe{\x00}\x00"), "", "\xff\xfe{\x00}\x00"}} {
		if got, err := Unpack(c.body, c.encoding, 100); err != nil || string(got) != c.want {
			t.Errorf("%q as %q: %q, %v", c.body, c.encoding, got, err)
		}
	}
	for _, coding := range []string{"br", "deflate", "zstd", "gzip, gzip", "\x1b[2J"} {
		var refused *CodingError
		if _, err := Unpack([]byte(text), coding, 100); !errors.As(err, &refused) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q: %v", coding, err)
		}
	}
	if _, err := Unpack(gz, "gzip", 3); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if _, err := Unpack(gz[:len(gz)-9], "gzip", 100); !errors.Is(err, ErrPacked) {
		t.Errorf("cut off: %v", err)
	}
}
