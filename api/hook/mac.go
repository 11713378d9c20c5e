package hook

import (
	"crypto/hmac"
	"crypto/sha256"
)

// HS256 is the algorithm that is allowed if the config names none.
const HS256 = "HS256"

// Algorithms are the JWT algorithms that can be verified. All use the shared secret: with a public-key one an
// attacker could sign with the public key, and "none" is not a signature.
var Algorithms = []string{HS256, "HS384", "HS512"}

// sum is the HMAC-SHA256 of the concatenated parts.
func sum(key []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}
