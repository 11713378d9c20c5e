package sshserver

import (
	"sync"

	"opdeck/api"
)

// sessionLimit limits sessions in total and per person, and connections per person. Some sessions are reserved for
// roles that must get in when all others are taken.
type sessionLimit struct {
	all, each, conns int
	kept             int // reserved for oncall and admin

	mu          sync.Mutex
	taken       int            // guarded by mu
	sessions    map[string]int // guarded by mu: by login name
	connections map[string]int // guarded by mu: by login name
}

func newSessionLimit(all, each, conns int) *sessionLimit {
	kept := 0
	if all >= 16 {
		kept = 4
	}
	return &sessionLimit{all: all, each: each, conns: conns, kept: kept, sessions: map[string]int{},
		connections: map[string]int{}}
}

// acquire takes a place for a session, or says why there is none.
func (s *sessionLimit) acquire(p Person) (release func(), why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	room := s.all
	if p.Role != api.Admin && p.Role != api.OnCall {
		room -= s.kept
	}
	switch {
	case s.sessions[p.Login] >= s.each:
		return nil, "you have reached the limit of open sessions"
	case s.taken >= room:
		return nil, "the server has reached its limit of open sessions"
	}
	s.taken++
	s.sessions[p.Login]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.taken--
		decrement(s.sessions, p.Login)
	}), ""
}

// connect counts a connection of a person; ok is false if there are too many.
func (s *sessionLimit) connect(login string) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connections[login] >= s.conns {
		return nil, false
	}
	s.connections[login]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		decrement(s.connections, login)
	}), true
}

func decrement[K comparable](m map[K]int, key K) {
	if m[key]--; m[key] == 0 {
		delete(m, key)
	}
}
