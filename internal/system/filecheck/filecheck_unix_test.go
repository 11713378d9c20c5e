//go:build unix

package filecheck

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAppend(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, line := range []string{"one\n", "two\n"} {
		f, err := Append(at("log"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(line); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	b, _ := os.ReadFile(at("log"))
	if st, err := os.Stat(at("log")); err != nil || st.Mode().Perm() != 0o600 || string(b) != "one\ntwo\n" {
		t.Errorf("%q, %v, %v", b, st, err)
	}
	for name, err := range map[string]error{"pipe": syscall.Mkfifo(at("pipe"), 0o600), "link": os.Symlink(at("log"), at("link")),
		"nowhere": os.Symlink(at("new"), at("nowhere")), "folder": os.Mkdir(at("folder"), 0o700), "/dev/null": nil} {
		if err != nil {
			t.Fatal(err)
		}
		path := at(name)
		if filepath.IsAbs(name) {
			path = name
		}
		if f, err := Append(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", name, err)
			_ = f.Close()
		}
	}
	if _, err := os.Lstat(at("new")); err == nil {
		t.Error("a file was made where the link points")
	}
	if _, err := Append(at("missing/log")); err == nil || strings.Contains(err.Error(), dir) {
		t.Errorf("%v", err)
	}
}

func TestTrusted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode][2]bool{0o400: {true, true}, 0o600: {true, true}, 0o640: {false, true}, 0o644: {false, true}, 0o755: {false, true},
		0o660: {false, false}, 0o602: {false, false}, 0o666: {false, false}} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]bool{Private(st) == nil, Trusted(path, st) == nil}; got != want {
			t.Errorf("%04o: private, trusted: %v, want %v", mode, got, want)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 1234, 1234); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if Private(st) == nil || Trusted(path, st) == nil {
		t.Error("another user's file is believed")
	}
}

// TestTrustedFolders: what everyone may replace decides nothing, wherever the open folder is.
func TestTrustedFolders(t *testing.T) {
	root := t.TempDir()
	inner := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	path, link := filepath.Join(inner, "f"), filepath.Join(root, "link")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir  string
		mode os.FileMode
		ok   bool
	}{{inner, 0o777, false}, {inner, 0o773, false}, {filepath.Dir(inner), 0o777, false}, {inner, os.ModeSticky | 0o777, true},
		{inner, 0o775, true}, {inner, 0o700, true}} {
		if err := os.Chmod(c.dir, c.mode); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{path, link} {
			err := Trusted(name, st)
			if (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "chmod o-w "+c.dir) {
				t.Errorf("%s in %s %v: %v", name, c.dir, c.mode, err)
			}
		}
		if err := os.Chmod(c.dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}
