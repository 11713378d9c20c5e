// Package secret holds values that must never be printed: passwords, tokens, share tokens, webhook secrets. No fmt
// verb, slog handler or encoder shows the content of a Value, not even in an unexported field, because only a closure
// has the content (security rule 3.1: a string type with redacting methods still leaks where fmt cannot call them).
package secret

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"log/slog"
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
