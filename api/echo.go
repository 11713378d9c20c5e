package api

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"opdeck/api/secret"
)

// An answer may echo the token of its request: services and gateways that are being debugged return headers. Every
// reader of an answer replaces the token with as many asterisks, so that nothing above this package can show, keep or
// forward it.

// leastToken is the least length, in bytes, of a token that is searched for: shorter ones occur in ordinary words.
const leastToken = 8

// spellings returns the forms in which an answer may hold a token: plain, in JSON with escaped slashes, and
// URL-encoded.
func spellings(token secret.Value) [][]byte {
	plain := token.Reveal()
	if len(plain) < leastToken {
		return nil
	}
	var out [][]byte
	for _, s := range []string{plain, strings.ReplaceAll(plain, "/", `\/`), url.QueryEscape(plain),
		url.PathEscape(plain)} {
		if !slices.ContainsFunc(out, func(b []byte) bool { return string(b) == s }) {
			out = append(out, []byte(s))
		}
	}
	return out
}

// hideToken replaces the token in b, in place.
func hideToken(b []byte, token secret.Value) { hideAll(b, spellings(token)) }

func hideAll(b []byte, forms [][]byte) {
	for _, form := range forms {
		for at, rest := 0, b; ; rest = b[at:] {
			i := bytes.Index(rest, form)
			if i < 0 {
				break
			}
			at += i
			for range form {
				b[at] = '*'
				at++
			}
		}
	}
}

// hideTokenIn drops the header fields that hold the token.
func hideTokenIn(h http.Header, token secret.Value) {
	forms := spellings(token)
	for name, values := range h {
		for _, v := range append(values, name) {
			b := []byte(v)
			if hideAll(b, forms); string(b) != v {
				h.Del(name)
			}
		}
	}
}

// echoFilter replaces the token in a stream, also where it spans two reads.
type echoFilter struct {
	from  io.Reader
	forms [][]byte
	keep  int // bytes that may begin a token: the longest form less one
	buf   []byte
	ready int // bytes at the start of buf that hold no part of a token
	err   error
}

func newEchoFilter(from io.Reader, token secret.Value) *echoFilter {
	f := &echoFilter{from: from, forms: spellings(token)}
	for _, form := range f.forms {
		f.keep = max(f.keep, len(form)-1)
	}
	return f
}

// echoChunk is the size of one read, in bytes.
const echoChunk = 32 << 10

func (f *echoFilter) Read(p []byte) (int, error) {
	for f.ready == 0 {
		if f.err != nil {
			return 0, f.err
		}
		have := len(f.buf)
		f.buf = append(f.buf, make([]byte, echoChunk)...)
		n, err := f.from.Read(f.buf[have:])
		f.buf, f.err = f.buf[:have+n], err
		hideAll(f.buf, f.forms)
		f.ready = max(0, len(f.buf)-f.keep)
		if err != nil {
			f.ready = len(f.buf)
		}
	}
	n := copy(p, f.buf[:f.ready])
	f.buf = append(f.buf[:0], f.buf[n:]...)
	f.ready -= n
	return n, nil
}
