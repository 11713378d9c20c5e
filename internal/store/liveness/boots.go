package liveness

import (
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"time"

	"opdeck/internal/domain/audit"
	"opdeck/internal/store"
	"opdeck/internal/store/files"
)

const (
	bootPrefix = "boot-"
	bootKept   = time.Hour // keeps the mark of a process that ended unexpectedly
)

// Boots detects which processes with unfinished writes have ended: each holds a kernel lock on its own file beside
// the SQLite file, which is released even if it is killed.
type Boots struct{ dir string }

// NewBoots returns the marks beside a SQLite file; nil without a folder that all processes share, as in memory, and
// with PostgreSQL, which has Listener.Boots.
func NewBoots(core *store.DB) *Boots {
	if core.Path() == "" {
		return nil
	}
	return &Boots{filepath.Dir(core.Path())}
}

func (b *Boots) file(boot string) string {
	return filepath.Join(b.dir, bootPrefix+filepath.Base(boot)+".lock")
}

// Hold marks this process until release is called or the process ends. ok is false if it cannot be marked: others
// then wait for a time instead.
func (b *Boots) Hold(boot string) (release func(behind bool), ok bool) {
	b.sweep()
	name := b.file(boot)
	f, ok := files.Hold(name)
	if !ok {
		return func(bool) {}, false
	}
	return func(behind bool) {
		if !behind { // else the free lock shows others that this process has ended
			_ = os.Remove(name)
		}
		_ = f.Close()
	}, true
}

// Gone reports whether a marked process has ended; false when in doubt.
func (b *Boots) Gone(boot string) bool {
	f, err := os.OpenFile(b.file(boot), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	return files.Free(f)
}

// Lives reports whether a process is marked and running; false when in doubt.
func (b *Boots) Lives(boot string) bool {
	f, err := os.OpenFile(b.file(boot), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	free, err := files.Lock(f, false, false)
	return !free && err == nil
}

// sweep removes marks of processes that ended long ago.
func (b *Boots) sweep() {
	names, err := filepath.Glob(filepath.Join(b.dir, bootPrefix+"*.lock"))
	if err != nil {
		return
	}
	for _, name := range names {
		boot := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), bootPrefix), ".lock")
		if st, err := os.Stat(name); err == nil && time.Since(st.ModTime()) > bootKept && b.Gone(boot) {
			_ = os.Remove(name)
		}
	}
}

// serverBoots marks processes by advisory locks.
type serverBoots struct{ on *Listener }

// Boots returns the marks of processes that share a PostgreSQL. A lock leaves no trace: call Gone only for processes
// whose Hold was granted. For a second or two after a lost connection, a running process counts as gone. Behind a
// pooler no process can be marked.
func (l *Listener) Boots() audit.Alive { return serverBoots{l} }

// Hold implements audit.Alive.
func (b serverBoots) Hold(boot string) (release func(behind bool), ok bool) {
	unlock, ok := b.on.Hold(bootID(boot))
	return func(bool) { unlock() }, ok
}

// Gone implements audit.Alive.
func (b serverBoots) Gone(boot string) bool { return b.on.Gone(bootID(boot)) }

// Lives implements audit.Alive.
func (b serverBoots) Lives(boot string) bool { return b.on.Held(bootID(boot)) }

// bootID is the number of a process's advisory lock.
func bootID(boot string) int64 {
	sum := sha256.Sum256([]byte("boot\x00" + boot))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}
