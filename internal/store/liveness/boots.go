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
	bootKept   = time.Hour // the mark of a process that ended without a word
)

// Boots says which processes with writes under way have ended: each holds a
// kernel lock on a file of its own beside the SQLite file, which its end frees,
// however it comes.
type Boots struct{ dir string }

// NewBoots returns the marks beside a SQLite file; nil where there is no folder
// that all processes share, as in memory, and with PostgreSQL, for which there is
// Listener.Boots.
func NewBoots(core *store.DB) *Boots {
	if core.Path() == "" {
		return nil
	}
	return &Boots{filepath.Dir(core.Path())}
}

func (b *Boots) file(boot string) string {
	return filepath.Join(b.dir, bootPrefix+filepath.Base(boot)+".lock")
}

// Hold marks this process until release is called or the process ends. ok is
// false when it cannot be marked: others then wait for a time instead.
func (b *Boots) Hold(boot string) (release func(behind bool), ok bool) {
	b.sweep()
	name := b.file(boot)
	f, ok := files.Hold(name)
	if !ok {
		return func(bool) {}, false
	}
	return func(behind bool) {
		if !behind { // else the free lock tells others that this process has ended
			_ = os.Remove(name)
		}
		_ = f.Close()
	}, true
}

// Gone reports that a process had marked itself and has ended. When in doubt:
// false.
func (b *Boots) Gone(boot string) bool {
	f, err := os.OpenFile(b.file(boot), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	return files.Free(f)
}

// Lives reports that a process is marked and runs. When in doubt: false.
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

// Boots returns the marks of processes that share a PostgreSQL. A lock leaves no
// trace: Gone is to be asked only about processes whose Hold was granted. While a
// lost connection is made again, for a second or two, a process counts as gone that
// is not. Behind a pooler nobody can be marked.
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
