package store

import (
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"time"

	"opdeck/internal/domain/audit"
)

const (
	bootPrefix = "boot-"
	bootKept   = time.Hour // the mark of a process that ended without a word
)

// Boots tells which processes with writes under way have ended: each holds a
// kernel lock on a file of its own beside the SQLite file, which its end frees,
// however it comes.
type Boots struct{ dir string }

// Boots returns the marks beside the core database; nil where there is no folder
// that all processes share, as in memory, and with PostgreSQL, for which there is
// Session.Boots.
func (s *Store) Boots() *Boots {
	if s.Core.engine != SQLite || s.Core.path == "" {
		return nil
	}
	return &Boots{filepath.Dir(s.Core.path)}
}

func (b *Boots) file(boot string) string {
	return filepath.Join(b.dir, bootPrefix+filepath.Base(boot)+".lock")
}

// Hold marks this process until release is called or the process ends. ok is
// false when it cannot be marked: others then wait for a time instead.
func (b *Boots) Hold(boot string) (release func(), ok bool) {
	b.sweep()
	name := b.file(boot)
	if err := ownFile(name); err != nil {
		return func() {}, false
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0o600)
	if err != nil {
		return func() {}, false
	}
	if ok, err := lockFile(f, true, false); err != nil || !ok {
		_ = f.Close()
		return func() {}, false
	}
	return func() { _ = os.Remove(name); _ = f.Close() }, true
}

// Gone reports that a process had marked itself and has ended. When in doubt:
// false.
func (b *Boots) Gone(boot string) bool {
	f, err := os.OpenFile(b.file(boot), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	ok, err := lockFile(f, false, false)
	return ok && err == nil
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

// serverBoots marks processes by advisory locks on the listening connection.
type serverBoots struct{ on serverLiveness }

// Boots returns the marks of processes that share a PostgreSQL; nil for others. A
// lock leaves no trace: Gone is to be asked only about processes whose Hold was
// granted. While a lost connection is made anew, for a second or two, a process
// counts as gone that is not. Behind a pooler nobody can be marked.
func (s *Session) Boots() audit.Alive {
	if s.db.engine != Postgres {
		return nil
	}
	return serverBoots{serverLiveness{s.startBell()}}
}

// Hold implements audit.Alive.
func (b serverBoots) Hold(boot string) (release func(), ok bool) { return b.on.hold(bootID(boot)) }

// Gone implements audit.Alive.
func (b serverBoots) Gone(boot string) bool { return b.on.gone(bootID(boot)) }

// bootID is the number of a process's advisory lock.
func bootID(boot string) int64 {
	sum := sha256.Sum256([]byte("boot\x00" + boot))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}
