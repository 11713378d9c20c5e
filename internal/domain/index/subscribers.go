package index

import "sync"

// subscribers receive the index's version after each change.
type subscribers struct {
	mu      sync.Mutex
	subs    map[chan int64]struct{} // guarded by mu
	version int64                   // guarded by mu; the last one sent
}

// Changes gives a channel that receives the index's version after changes, of
// this process at once and of others when Watch sees them. Only the newest
// version waits in it. stop ends the subscription.
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

// announce sends a version that was not sent last, and reports whether it was another.
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
