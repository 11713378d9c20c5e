package sshserver

import (
	"fmt"
	"maps"
	"net/netip"
	"path"
	"strings"
	"sync"

	"opdeck/api"
)

// sources is a list of addresses as in from= and source-address: networks ("10.0.0.0/8"), addresses with * and ?, and
// exclusions with "!".
type sources []source

type source struct {
	not     bool
	network netip.Prefix // valid, or
	pattern string
}

// parseSources parses a comma-separated list. Host names are refused: a name server would decide who may log in.
func parseSources(list string) (sources, error) {
	var out sources
	for item := range strings.SplitSeq(list, ",") {
		var s source
		item, s.not = strings.CutPrefix(strings.TrimSpace(item), "!")
		switch {
		case item == "":
			return nil, fmt.Errorf("an address is empty")
		case strings.Contains(item, "/"):
			p, err := netip.ParsePrefix(item)
			if err != nil {
				return nil, fmt.Errorf("not a network")
			}
			s.network = p.Masked()
		case strings.Trim(item, "0123456789abcdefABCDEF:.*?") != "":
			return nil, fmt.Errorf("only addresses and networks are allowed, not host names")
		default:
			s.pattern = strings.ToLower(item)
		}
		out = append(out, s)
	}
	return out, nil
}

// allow reports whether an address is in the list and not excluded.
func (l sources) allow(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	in := false
	for _, s := range l {
		if !s.matches(a) {
			continue
		}
		if s.not {
			return false
		}
		in = true
	}
	return in
}

func (s source) matches(a netip.Addr) bool {
	if s.network.IsValid() {
		return s.network.Contains(a)
	}
	ok, err := path.Match(s.pattern, a.String())
	return err == nil && ok
}

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
func (s *sessionLimit) acquire(p KeyHolder) (release func(), why string) {
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

// reasonCounts counts refused attempts since the start.
type reasonCounts struct {
	mu sync.Mutex
	by map[string]int64 // guarded by mu: by reason, a fixed word
}

func (r *reasonCounts) add(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[string]int64{}
	}
	r.by[reason]++
}

// Refused returns how many attempts were refused since the start, by reason, a fixed word.
func (s *Server) Refused() map[string]int64 {
	s.refused.mu.Lock()
	defer s.refused.mu.Unlock()
	return maps.Clone(s.refused.by)
}
