package sshd

import (
	"sync"

	"opdeck/api"
)

// seats bounds sessions in all and of one person, and connections of one person.
// Some are kept for those who must get in when the house is full.
type seats struct {
	all, each, conns int
	kept             int // of all, for oncall and admin

	mu     sync.Mutex
	taken  int            // guarded by mu
	person map[string]int // guarded by mu: sessions, by login name
	lines  map[string]int // guarded by mu: connections, by login name
}

func newSeats(all, each, conns int) *seats {
	kept := 0
	if all >= 16 {
		kept = 4
	}
	return &seats{all: all, each: each, conns: conns, kept: kept, person: map[string]int{}, lines: map[string]int{}}
}

// sit takes a place for a session, or says why there is none.
func (s *seats) sit(p Person) (rise func(), why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	room := s.all
	if p.Role != api.Admin && p.Role != api.OnCall {
		room -= s.kept
	}
	switch {
	case s.person[p.Login] >= s.each:
		return nil, "you have as many sessions open as one person may have"
	case s.taken >= room:
		return nil, "the server has as many sessions open as it may have"
	}
	s.taken++
	s.person[p.Login]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.taken--
		less(s.person, p.Login)
	}), ""
}

// connect counts a connection of a person; ok is false when there are too many.
func (s *seats) connect(login string) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines[login] >= s.conns {
		return nil, false
	}
	s.lines[login]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		less(s.lines, login)
	}), true
}

func less[K comparable](m map[K]int, key K) {
	if m[key]--; m[key] == 0 {
		delete(m, key)
	}
}
