package index

import "sync"

// subscribers receive the index's version after each change.
type subscribers struct {
	mu      sync.Mutex
	subs    map[chan int64]struct{} // guarded by mu
	version int64                   // guarded by mu; last one sent
}

// Changes returns a channel that receives the index's version after changes: those of this process at once, others
// when Watch detects them. It holds the newest version only. stop ends the subscription.
func (s *subscribers) Changes() (changes <-chan int64, stop func()) {
	c := make(chan int64, 1)
	s.mu.Lock()
	if s.subs == nil {
		s.subs = map[chan int64]struct{}{}
	}
	s.subs[c] = struct{}{}
	s.mu.Unlock()
	return c, func() {
		s.mu.Lock()
		delete(s.subs, c)
		s.mu.Unlock()
	}
}

// announce sends a version unless it was sent last, and reports whether it did.
func (s *subscribers) announce(version int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version == s.version {
		return false
	}
	s.version = version
	for c := range s.subs {
		select {
		case <-c: // drop the older version
		default:
		}
		c <- version
	}
	return true
}
