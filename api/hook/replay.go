package hook

import (
	"crypto/sha256"
	"sync"
	"time"
)

// replayGuard keeps which body each token id (jti) of an unbound token came with, for
// as long as such a token could be accepted. A sender that repeats a delivery may
// repeat its token; the same token over another body is a stolen one.
type replayGuard struct {
	keep time.Duration

	mu    sync.Mutex // guards the maps
	now   map[[sha256.Size]byte][sha256.Size]byte
	then  map[[sha256.Size]byte][sha256.Size]byte // the ones before
	moved time.Time                               // when now became then last
}

const maxRemembered = 1 << 16 // token ids in one half; more only shorten the time

func newReplayGuard(keep time.Duration) *replayGuard {
	return &replayGuard{keep: keep, now: map[[sha256.Size]byte][sha256.Size]byte{}}
}

// accept notes id and reports whether it is new or came with the same body.
func (m *replayGuard) accept(id string, body [sha256.Size]byte, at time.Time) bool {
	key := sha256.Sum256([]byte(id))
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.now) >= maxRemembered || at.Sub(m.moved) > m.keep {
		m.then, m.now, m.moved = m.now, map[[sha256.Size]byte][sha256.Size]byte{}, at
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
