package receiver

import (
	"sync"
	"sync/atomic"
)

// hub passes stored events to the subscribers in this process.
type hub struct {
	dropped atomic.Int64

	mu     sync.Mutex // guards the rest
	subs   map[*Subscription]bool
	closed bool
}

// Subscription is one subscriber's channel. It is bounded and never blocks the
// receiver: what does not fit is counted and must be read from the inbox.
type Subscription struct {
	// C brings stored events; it is closed with the receiver or by Close.
	C <-chan Stored

	c      chan Stored
	hub    *hub
	missed atomic.Int64
}

// Subscribe returns a channel that holds up to size events.
func (r *Receiver) Subscribe(size int) *Subscription {
	s := &Subscription{c: make(chan Stored, max(size, 1)), hub: &r.hub}
	s.C = s.c
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	if r.hub.closed {
		close(s.c)
		return s
	}
	if r.hub.subs == nil {
		r.hub.subs = map[*Subscription]bool{}
	}
	r.hub.subs[s] = true
	return s
}

// Missed returns how many events did not fit since it was called last. They
// are in the inbox.
func (s *Subscription) Missed() int64 { return s.missed.Swap(0) }

// Close ends the subscription; it may be called twice.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.hub.subs[s] {
		delete(s.hub.subs, s)
		close(s.c)
	}
}

func (h *hub) publish(e Stored) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		select {
		case s.c <- e:
		default:
			s.missed.Add(1)
			h.dropped.Add(1)
		}
	}
}

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for s := range h.subs {
		delete(h.subs, s)
		close(s.c)
	}
}
