package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// holds fails t when the folder has anything but these files, or one of them another
// content or mode.
func holds(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(want) {
		t.Fatalf("%v, %v; want %v", entries, err, want)
	}
	for name, content := range want {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(b) != content {
			t.Errorf("%s holds %q, %v; want %q", name, b, err, content)
		}
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || runtime.GOOS != "windows" && st.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
}

func TestCreateNeverOverwrites(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := Create(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, []byte("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another file: %v", err)
	}
	holds(t, dir, map[string]string{"a": "one"})
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for _, content := range []string{"one", "", "three"} {
		if err := Replace(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		holds(t, dir, map[string]string{"a": content})
	}
}

// TestNameIsTakenByAFolder: what cannot get its name leaves nothing behind.
func TestNameIsTakenByAFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"create": Create(path, []byte("x")), "replace": Replace(path, []byte("x"))} {
		if err == nil {
			t.Errorf("%s over a folder", what)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestMissingFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "a")
	for what, err := range map[string]error{"create": Create(path, nil), "replace": Replace(path, nil)} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestNewAndClose(t *testing.T) {
	dir := t.TempDir()
	kept, failed := filepath.Join(dir, "kept"), filepath.Join(dir, "failed")
	for path, how := range map[string]error{kept: nil, failed: errors.New("no more")} {
		f, err := New(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("content"); err != nil {
			t.Fatal(err)
		}
		if err := Close(f, how); !errors.Is(err, how) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := New(kept); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another file: %v", err)
	}
	holds(t, dir, map[string]string{"kept": "content"})
}
