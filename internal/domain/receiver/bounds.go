package receiver

import (
	"net/netip"
	"sync"
)

// sourceOf is what bounds are counted by: an IPv4 address, or the /64 that one
// customer of an IPv6 network has.
func sourceOf(a netip.Addr) netip.Addr {
	if a.Is4() || a.Is4In6() {
		return a.Unmap()
	}
	p, err := a.WithZone("").Prefix(64)
	if err != nil {
		return a
	}
	return p.Addr()
}

// slots bounds how many requests are verified and stored at a time, in all and
// from one source.
type slots struct {
	total, each int

	mu   sync.Mutex // guards the rest
	used int
	by   map[netip.Addr]int
}

func newSlots(total, each int) *slots {
	return &slots{total: total, each: each, by: map[netip.Addr]int{}}
}

// take reports whether there is a slot for the source; give gives it back.
func (s *slots) take(source netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used >= s.total || s.by[source] >= s.each {
		return false
	}
	s.used++
	s.by[source]++
	return true
}

func (s *slots) give(source netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	if s.by[source]--; s.by[source] == 0 {
		delete(s.by, source)
	}
}

func (s *slots) inUse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}
