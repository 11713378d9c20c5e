package hook

import (
	"crypto/sha256"
	"sync"
	"time"
)

// replayGuard remembers the body of each id (jti) of an unbound token for as long as the token can be accepted. A
// retry may repeat its token; the same token with another body is stolen.
type replayGuard struct {
	keep time.Duration

	mu    sync.Mutex // guards the maps
	now   map[[sha256.Size]byte][sha256.Size]byte
	then  map[[sha256.Size]byte][sha256.Size]byte // the earlier half
	moved time.Time                               // when now last became then
}

const maxRemembered = 1 << 16 // token ids in one half; more of them only shorten the time

func newReplayGuard(keep time.Duration) *replayGuard {
	return &replayGuard{keep: keep, now: map[[sha256.Size]byte][sha256.Size]byte{}}
}

// accept records id and reports whether it is new or has the same body as before.
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
