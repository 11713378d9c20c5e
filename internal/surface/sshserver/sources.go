package sshserver

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"opdeck/api"
	"opdeck/internal/system/wholefile"
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

// maxKnown bounds the remembered networks, maxKnownFile their file in bytes.
const (
	maxKnown     = 4096
	maxKnownFile = 512 << 10
)

// knownSources remembers the newest networks of logins, in a file if it has one.
type knownSources struct {
	max  int
	path string // "": kept for the life of the process

	mu    sync.Mutex
	seen  map[netip.Prefix]int64 // guarded by mu: last login, as a count of logins
	n     int64                  // guarded by mu
	dirty bool                   // guarded by mu: the file is out of date
}

// load reads the file; a missing one is empty.
func (k *knownSources) load() error {
	if k.path == "" {
		return nil
	}
	f, err := os.Open(k.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ssh: known sources: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxKnownFile))
	for line := range bytes.Lines(b) {
		if p, parseErr := netip.ParsePrefix(string(bytes.TrimSpace(line))); parseErr == nil {
			k.add(p.Addr())
		}
	}
	k.mu.Lock()
	k.dirty = false
	k.mu.Unlock()
	return err
}

// save writes the file if anything changed.
func (k *knownSources) save() error {
	k.mu.Lock()
	if !k.dirty || k.path == "" {
		k.mu.Unlock()
		return nil
	}
	k.dirty = false
	var b bytes.Buffer
	for _, p := range slices.SortedFunc(maps.Keys(k.seen),
		func(p, q netip.Prefix) int { return cmp.Compare(k.seen[p], k.seen[q]) }) {
		fmt.Fprintln(&b, p)
	}
	k.mu.Unlock()
	if err := wholefile.Replace(k.path, b.Bytes()); err != nil {
		return fmt.Errorf("ssh: known sources: %w", err)
	}
	return nil
}

func (k *knownSources) has(p netip.Prefix) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, is := k.seen[p]
	return is
}

// add remembers the network of a login.
func (k *knownSources) add(a netip.Addr) {
	p, _ := networks(a)
	if !p.IsValid() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.seen == nil {
		k.seen = map[netip.Prefix]int64{}
	}
	if _, known := k.seen[p]; !known {
		k.dirty = true
	}
	k.n++
	k.seen[p] = k.n
	if len(k.seen) <= k.max {
		return
	}
	oldest := p
	for q, at := range k.seen {
		if at < k.seen[oldest] {
			oldest = q
		}
	}
	delete(k.seen, oldest)
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
