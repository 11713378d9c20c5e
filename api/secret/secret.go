// Package secret holds values that must never be printed: passwords, tokens, share tokens, webhook secrets. No fmt
// verb, slog handler or encoder shows the content of a Value, not even in an unexported field, because only a closure
// has the content (security rule 3.1: a string type with redacting methods still leaks where fmt cannot call them).
package secret

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"log/slog"
	"strconv"
)

// Dots is printed in place of a secret.
const Dots = "••••"

// Value is a secret text. The zero Value is empty.
type Value struct{ reveal func() string }

// New wraps s.
func New(s string) Value {
	if s == "" {
		return Value{}
	}
	return Value{reveal: func() string { return s }}
}

// Reveal returns the content. Call it only where the secret leaves the program on purpose: in a request's header,
// path or body, or to seal a store row.
func (v Value) Reveal() string {
	if v.reveal == nil {
		return ""
	}
	return v.reveal()
}

// Empty reports whether there is no content.
func (v Value) Empty() bool { return v.reveal == nil }

// Equal compares two secrets in constant time (their lengths may show).
func (v Value) Equal(w Value) bool {
	return subtle.ConstantTimeCompare([]byte(v.Reveal()), []byte(w.Reveal())) == 1
}

// String returns dots, or nothing for an empty Value.
func (v Value) String() string {
	if v.Empty() {
		return ""
	}
	return Dots
}

// Format implements fmt.Formatter for every verb.
func (v Value) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(v.String())) }

// GoString implements fmt.GoStringer.
func (v Value) GoString() string { return v.String() }

// LogValue implements slog.LogValuer.
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }

// MarshalJSON writes dots.
func (v Value) MarshalJSON() ([]byte, error) { return json.Marshal(v.String()) }

// MarshalText writes dots.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Digests makes digests of secrets that people may see: in acts, approvals and records. They are keyed, so that no one
// without the key can compare one with a guess.
type Digests struct{ key Value }

// NewDigests returns the digests of a key: the same in all processes of a store, or a write in doubt is not recognised.
func NewDigests(key []byte) Digests { return Digests{New(string(key))} }

// Of identifies v among secrets of the same use: 64 hexadecimal digits.
func (d Digests) Of(use string, v Value) string {
	h := hmac.New(sha256.New, []byte(d.key.Reveal()))
	h.Write([]byte(use + "\x00" + v.Reveal()))
	return hex.EncodeToString(h.Sum(nil))
}

// Finder finds secrets in text from outside as a reader of that text would decode them: plain or with JSON escapes, URL
// or HTML encoding on any of their characters, in UTF-16, in base64 and in hexadecimal.
type Finder struct {
	forms   []string  // what is looked for, once characters are decoded
	starts  [256]bool // bytes that may begin a form
	longest int
}

// leastLength is the least length, in bytes, of a secret that is searched for: shorter ones occur in ordinary words.
const leastLength = 8

// widest is the most bytes that stand for one character.
const widest = 12

// Find returns a Finder of these secrets; shorter ones than 8 bytes are left out.
func Find(values ...Value) *Finder {
	f := &Finder{}
	for _, v := range values {
		if s := v.Reveal(); len(s) >= leastLength {
			f.forms = append(f.forms, s, hex.EncodeToString([]byte(s)))
			f.forms = append(f.forms, encoded(s, base64.StdEncoding)...)
			f.forms = append(f.forms, encoded(s, base64.URLEncoding)...)
		}
	}
	for _, form := range f.forms {
		f.longest = max(f.longest, widest*len(form))
		f.starts[form[0]] = true
	}
	if len(f.forms) > 0 {
		f.starts['\\'], f.starts['%'], f.starts['&'] = true, true, true
	}
	return f
}

// encoded are the parts of the base64 of any text around s that depend on s alone: one for each place of s in a group
// of three bytes.
func encoded(s string, as *base64.Encoding) (out []string) {
	for before := range 3 {
		text := as.WithPadding(base64.NoPadding).EncodeToString(append(make([]byte, before), s...))
		from, to := (before*8+5)/6, (before+len(s))*8/6
		out = append(out, text[from:to])
	}
	return out
}

// Longest is the most bytes that one of the secrets takes in any form; 0: there is nothing to find.
func (f *Finder) Longest() int { return f.longest }

// Hide replaces each byte of the secrets in b by an asterisk, and reports whether there were any.
func (f *Finder) Hide(b []byte) (found bool) {
	if len(f.forms) == 0 {
		return false
	}
	for i := 0; i < len(b); i++ {
		if !f.starts[b[i]] {
			continue
		}
		for _, form := range f.forms {
			if end := match(b, i, form); end > 0 {
				for ; i < end; i++ {
					b[i] = '*'
				}
				i--
				found = true
				break
			}
		}
	}
	return found
}

// In reports whether s holds one of the secrets.
func (f *Finder) In(s string) bool { return f.Hide([]byte(s)) }

// match is where a form ends that begins at b[i]; 0: none does.
func match(b []byte, i int, form string) int {
	for k := range len(form) {
		for k > 0 && i < len(b) && (b[i] == 0 || b[i] == '\r' || b[i] == '\n') { // UTF-16, folded lines
			i++
		}
		if i >= len(b) {
			return 0
		}
		if b[i] == form[k] {
			i++
			continue
		}
		c, n := decode(b[i:])
		if n == 0 || c != form[k] {
			return 0
		}
		i += n
	}
	return i
}

// decode is the character that an escape at the beginning of b stands for, and its length in bytes; 0: none.
func decode(b []byte) (c byte, n int) {
	switch b[0] {
	case '\\':
		return backslash(b)
	case '%':
		n = 1
		for bytes.HasPrefix(b[n:], []byte("25")) && n < 6 {
			n += 2
		}
		return hexed(b, n, 2)
	case '&':
		end := bytes.IndexByte(b[:min(len(b), widest)], ';')
		if end < 0 {
			return 0, 0
		}
		if s := html.UnescapeString(string(b[:end+1])); len(s) == 1 {
			return s[0], end + 1
		}
	}
	return 0, 0
}

// backslash decodes an escape of JSON or of JSON inside a JSON text.
func backslash(b []byte) (byte, int) {
	n := 1
	for n < len(b) && n < 4 && b[n] == '\\' {
		n++
	}
	switch {
	case n >= len(b):
		return 0, 0
	case b[n] == 'u':
		return hexed(b, n+1, 4)
	case b[n] == 'x':
		return hexed(b, n+1, 2)
	}
	return b[n], n + 1
}

// hexed is the character with these digits at b[at], and where they end.
func hexed(b []byte, at, digits int) (byte, int) {
	if at+digits > len(b) {
		return 0, 0
	}
	v, err := strconv.ParseUint(string(b[at:at+digits]), 16, 16)
	if err != nil || v > 0x7f {
		return 0, 0
	}
	return byte(v), at + digits
}
