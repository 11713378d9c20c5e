package hook

import (
	"crypto/hmac"
	"crypto/sha256"
)

// HS256 is the algorithm that is allowed when the config names none.
const HS256 = "HS256"

// Algorithms are those that a JWT can be checked with. All use the shared
// secret: one that takes a public key would let a caller sign with what everybody
// knows, and "none" is not a signature.
var Algorithms = []string{HS256, "HS384", "HS512"}

// sum is the HMAC-SHA256 over the parts, one after another.
func sum(key []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}
