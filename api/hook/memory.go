package hook

import (
	"crypto/sha256"
	"sync"
	"time"
)

// memory keeps which body each token id (jti) of an unbound token came with, for
// as long as such a token could be accepted. A sender that repeats a delivery may
// repeat its token; the same token over another body is a stolen one.
type memory struct {
	keep time.Duration

	mu   sync.Mutex // guards the maps
	now  map[[sha256.Size]byte][sha256.Size]byte
	then map[[sha256.Size]byte][sha256.Size]byte // the ones before
	turn time.Time                               // when now became then last
}

const maxRemembered = 1 << 16 // token ids in one half; more only shorten the time

func newMemory(keep time.Duration) *memory {
	return &memory{keep: keep, now: map[[sha256.Size]byte][sha256.Size]byte{}}
}

// first notes id and reports whether it is new or came with the same body.
func (m *memory) first(id string, body [sha256.Size]byte, at time.Time) bool {
	key := sha256.Sum256([]byte(id))
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.now) >= maxRemembered || at.Sub(m.turn) > m.keep {
		m.then, m.now, m.turn = m.now, map[[sha256.Size]byte][sha256.Size]byte{}, at
	}
	old, seen := m.now[key]
	if !seen {
		old, seen = m.then[key]
	}
	if seen {
		return old == body
	}
	m.now[key] = body
	return true
}
