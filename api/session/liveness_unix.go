//go:build unix

package session

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// FileLiveness keeps one lock file per key in the existing folder dir. The
// kernel frees a lock when its holder dies; the files are never deleted.
func FileLiveness(dir string) Liveness { return fileLiveness{dir} }

type fileLiveness struct{ dir string }

// open makes a fresh descriptor, closed on exec.
func (l fileLiveness) open(key Key) (*os.File, error) {
	sum := sha256.Sum256([]byte(key.BaseURL + "\x00" + key.Account))
	return os.OpenFile(filepath.Join(l.dir, "holder-"+hex.EncodeToString(sum[:8])+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
}

func (l fileLiveness) Hold(key Key) (func(), bool) {
	f, err := l.open(key)
	if err != nil {
		return nil, false
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		_ = f.Close()
		return nil, false
	}
	return func() { _ = f.Close() }, true
}

func (l fileLiveness) Gone(key Key) bool {
	f, err := l.open(key)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil
}
