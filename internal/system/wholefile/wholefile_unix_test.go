//go:build unix

package wholefile

import (
	"bytes"
	"errors"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// TestNoRoom: when the system takes only part of a file, the one of before stays and
// nothing else is left.
func TestNoRoom(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := Create(path, []byte("before")); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	less := limit
	less.Cur = 64
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &less); err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("x"), 1000)
	replaced, created := Replace(path, large), Create(filepath.Join(dir, "b"), large)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(replaced, syscall.EFBIG) || !errors.Is(created, syscall.EFBIG) {
		t.Errorf("replace %v, create %v", replaced, created)
	}
	holds(t, dir, map[string]string{"a": "before"})
}
