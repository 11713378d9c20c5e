package api

import (
	"bytes"
	"encoding/base64"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"opdeck/api/secret"
)

const echoToken = "eyJ0b2tlbi9tYXJrZXI+/a+b=.sig-MARKER_0123456789"

// TestEchoFilter: the token does not pass in any of its spellings, however the stream
// is cut, and every other byte stays where it is.
func TestEchoFilter(t *testing.T) {
	token := secret.New(echoToken)
	for _, form := range [][]byte{[]byte(echoToken), []byte(url.QueryEscape(echoToken)), []byte(strings.ReplaceAll(echoToken, "e", `\u0065`))} {
		for _, around := range []int{0, 1, len(form) - 1, 1000, echoChunk - len(form)/2, 3 * echoChunk} {
			before := strings.Repeat("eyJ0", around/4+1)
			text := before + string(form) + "|" + string(form) + string(form[:len(form)-1])
			want := before + strings.Repeat("*", len(form)) + "|" + strings.Repeat("*", len(form)) + string(form[:len(form)-1])
			for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "half": iotest.HalfReader(strings.NewReader(text)),
				"bytes": iotest.OneByteReader(strings.NewReader(text[max(0, len(text)-4000):])), "with the error": iotest.DataErrReader(strings.NewReader(text))} {
				want := want
				if name == "bytes" {
					want = want[max(0, len(want)-4000):]
				}
				got, err := io.ReadAll(newEchoFilter(r, secret.Find(token)))
				if err != nil || string(got) != want {
					t.Fatalf("%s around %d: %d bytes, %v", name, around, len(got), err)
				}
			}
		}
	}
}

// TestEchoFilterAtRandom cuts at random places.
func TestEchoFilterAtRandom(t *testing.T) {
	token, random := secret.New(echoToken), rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var text bytes.Buffer
		for range random.IntN(20) {
			text.WriteString(echoToken[:random.IntN(len(echoToken)+1)])
		}
		var parts []io.Reader
		for rest := text.Bytes(); len(rest) > 0; {
			n := 1 + random.IntN(len(rest))
			parts, rest = append(parts, bytes.NewReader(rest[:n])), rest[n:]
		}
		got, err := io.ReadAll(newEchoFilter(io.MultiReader(parts...), secret.Find(token)))
		if err != nil || bytes.Contains(got, []byte(echoToken)) || len(got) != text.Len() {
			t.Fatalf("%q from %q, %v", got, text.Bytes(), err)
		}
	}
}

// TestEchoIsDroppedFromHeaders drops fields that hold the token, in name or value.
func TestEchoIsDroppedFromHeaders(t *testing.T) {
	h := http.Header{"X-Seen": {"ok", "Bearer " + echoToken}, "X-Other": {"fine"}, "X-" + echoToken: {"1"},
		"X-Basic": {base64.StdEncoding.EncodeToString([]byte("Bearer " + echoToken))}, "X-Path": {url.PathEscape(echoToken)}}
	dropEchoes(h, secret.Find(secret.New(echoToken)))
	if len(h) != 1 || h.Get("X-Other") != "fine" {
		t.Errorf("%v", h)
	}
	dropEchoes(h, secret.Find())
	if len(h) != 1 {
		t.Errorf("without a token: %v", h)
	}
}
