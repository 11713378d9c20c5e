package api

import (
	"io"
	"net/http"
	"slices"

	"opdeck/api/secret"
)

// An answer may echo the token of its request: services and gateways that are being debugged return headers. Every
// reader of an answer replaces the token with as many asterisks, so that nothing above this package can show, keep or
// forward it.

// echoed finds what the answer to r may echo: the session's token, and the one in its body.
func (r Request) echoed(token secret.Value) *secret.Finder { return secret.Find(token, r.Second) }

// dropEchoes drops the header fields that hold one of the tokens.
func dropEchoes(h http.Header, tokens *secret.Finder) {
	for name, values := range h {
		if tokens.In(name) || slices.ContainsFunc(values, tokens.In) {
			h.Del(name)
		}
	}
}

// echoFilter replaces the token in a stream, also where it spans two reads.
type echoFilter struct {
	from   io.Reader
	tokens *secret.Finder
	keep   int // bytes that may begin a token
	buf    []byte
	ready  int // bytes at the start of buf that hold no part of a token
	err    error
}

func newEchoFilter(from io.Reader, tokens *secret.Finder) *echoFilter {
	return &echoFilter{from: from, tokens: tokens, keep: tokens.Longest()}
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
		f.tokens.Hide(f.buf)
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
