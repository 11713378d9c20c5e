package newfile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"opdeck/internal/host/newfile"
)

// TestWrite: whole and private, or not there; what is there stays.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	say := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			if _, seen := os.Lstat(path); text != "again" && seen == nil {
				t.Error("it is there under its name before it is whole")
			}
			_, wrote := io.WriteString(w, text)
			return errors.Join(err, wrote)
		}
	}
	broken := errors.New("broken off")
	if err := newfile.Write(path, say("half", broken)); !errors.Is(err, broken) {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := newfile.Write(path, say("whole", nil)); err != nil {
		t.Fatal(err)
	}
	if err := newfile.Write(path, say("again", nil)); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	b, _ := os.ReadFile(path)
	info, err := os.Stat(path)
	if err != nil || string(b) != "whole" || info.Mode().Perm() != 0o600 {
		t.Errorf("%q %v %v", b, info.Mode(), err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	if err := newfile.Write(filepath.Join(dir, "none", "a"), say("x", nil)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	// somebody is faster while it is filled
	other := filepath.Join(dir, "b")
	if err := newfile.Write(other, func(io.Writer) error { return os.WriteFile(other, []byte("theirs"), 0o600) }); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if b, _ := os.ReadFile(other); string(b) != "theirs" {
		t.Errorf("%q", b)
	}
}
