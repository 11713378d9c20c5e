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
	"slices"
	"sync"

	"opdeck/internal/system/wholefile"
)

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
