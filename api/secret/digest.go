package secret

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

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
