package sshserver

import (
	"maps"
	"sync"
)

// stats counts since the start.
type stats struct {
	mu      sync.Mutex
	logins  map[string]int64 // guarded by mu: by "key" or "certificate"
	refused map[string]int64 // guarded by mu: by a few fixed words
	closed  map[string]int64 // guarded by mu: sessions, by how they ended
	open    map[string]int   // guarded by mu: sessions, by "console" or "command"
}

func (s *stats) add(m *map[string]int64, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if *m == nil {
		*m = map[string]int64{}
	}
	(*m)[key]++
}

func (s *stats) opened(kind string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[string]int{}
	}
	s.open[kind] += n
}

// Counters are totals since the start and current values.
type Counters struct {
	Pending     int              // unauthenticated connections
	Connections int              // authenticated ones
	Sessions    map[string]int   // open now, by "console" or "command"
	Logins      map[string]int64 // by "key" or "certificate"
	Refused     map[string]int64 // by reason, a fixed word
	Closed      map[string]int64 // sessions that ended, by reason, a fixed word
}

// Counters returns a copy of the counts.
func (s *Server) Counters() Counters {
	c := Counters{Pending: s.preAuth.count(), Connections: len(s.authenticated()),
		Sessions: map[string]int{"console": 0, "command": 0}}
	s.stats.mu.Lock()
	defer s.stats.mu.Unlock()
	c.Logins, c.Refused, c.Closed = maps.Clone(s.stats.logins), maps.Clone(s.stats.refused), maps.Clone(s.stats.closed)
	maps.Copy(c.Sessions, s.stats.open)
	return c
}
