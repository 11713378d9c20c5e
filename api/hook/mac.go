package hook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
	"slices"
	"sync"

	"opdeck/api/secret"
)

// HS256 is the algorithm that is allowed when the config names none.
const HS256 = "HS256"

// Algorithms are those that a JWT can be checked with. All use the shared
// secret: one that takes a public key would let a caller sign with what everybody
// knows, and "none" is not a signature.
var Algorithms = []string{HS256, "HS384", "HS512"}

// hashOf is the hash behind an algorithm, nil for one that is not supported.
func hashOf(algorithm string) func() hash.Hash {
	switch algorithm {
	case HS256:
		return sha256.New
	case "HS384":
		return sha512.New384
	case "HS512":
		return sha512.New
	}
	return nil
}

// signingKey makes HMAC signatures. It keeps hashes that have taken in the key
// already, which is half of the work for a token. Safe for concurrent use.
type signingKey struct{ ready sync.Pool }

func newSigningKey(key []byte, h func() hash.Hash) *signingKey {
	k := &signingKey{}
	k.ready.New = func() any { return hmac.New(h, key) }
	return k
}

// keyring holds the keys of each allowed algorithm.
type keyring map[string][]*signingKey

func newKeyring(secrets []secret.Value, algorithms []string) keyring {
	k := keyring{}
	for _, a := range algorithms {
		for _, v := range secrets {
			k[a] = append(k[a], newSigningKey([]byte(v.Reveal()), hashOf(a)))
		}
	}
	return k
}

// names are the allowed algorithms in the order of Algorithms.
func (k keyring) names() []string {
	return slices.DeleteFunc(slices.Clone(Algorithms), func(a string) bool { return k[a] == nil })
}

// sum signs the parts one after another.
func (k *signingKey) sum(parts ...[]byte) []byte {
	h := k.ready.Get().(hash.Hash)
	defer k.ready.Put(h)
	h.Reset()
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(make([]byte, 0, h.Size()))
}

// matching returns the number of the key that made signature over parts, or -1.
// It tries every key.
func matching(keys []*signingKey, signature []byte, parts ...[]byte) int {
	which := -1
	for i, k := range keys {
		if hmac.Equal(signature, k.sum(parts...)) && which < 0 {
			which = i
		}
	}
	return which
}
