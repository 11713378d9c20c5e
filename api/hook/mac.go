package hook

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"sync"
)

// signingKey makes HMAC-SHA256 signatures. It keeps hashes that have taken in
// the key already, which is half of the work for a token. Safe for concurrent use.
type signingKey struct{ ready sync.Pool }

func newSigningKey(key []byte) *signingKey {
	k := &signingKey{}
	k.ready.New = func() any { return hmac.New(sha256.New, key) }
	return k
}

// sum signs the parts one after another.
func (k *signingKey) sum(parts ...[]byte) [sha256.Size]byte {
	h := k.ready.Get().(hash.Hash)
	defer k.ready.Put(h)
	h.Reset()
	for _, p := range parts {
		h.Write(p)
	}
	var out [sha256.Size]byte
	h.Sum(out[:0])
	return out
}

// matching returns the number of the key that made signature over parts, or -1.
// It tries every key.
func matching(keys []*signingKey, signature []byte, parts ...[]byte) int {
	which := -1
	for i, k := range keys {
		sum := k.sum(parts...)
		if hmac.Equal(signature, sum[:]) && which < 0 {
			which = i
		}
	}
	return which
}
