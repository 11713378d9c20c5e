//go:build unix

package app

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// handing is an App with a state folder.
func handing(t *testing.T) *App {
	t.Helper()
	return &App{State: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
}

func text(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }

// entries are the names in the state folder of a.
func entries(t *testing.T, a *App) (names []string) {
	t.Helper()
	list, err := os.ReadDir(a.State)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// A file that is handed out is ours alone, and goes with all that is beside it.
func TestHandOut(t *testing.T) {
	a := handing(t)
	path, remove, err := HandOut(a.State, "a b.pdf", text)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(filepath.Dir(path)) != a.State || filepath.Base(path) != "a b.pdf" {
		t.Errorf("it is %s", path)
	}
	for p, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if st, err := os.Stat(p); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", p, st.Mode(), err)
		}
	}
	if b, _ := os.ReadFile(path); string(b) != "text" {
		t.Errorf("it holds %q", b)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), ".a.swp"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := remove(); err != nil || len(entries(t, a)) != 0 {
		t.Errorf("left are %q, %v", entries(t, a), err)
	}
}

func TestHandOutFails(t *testing.T) {
	a := handing(t)
	no := errors.New("the audit trail cannot be written")
	if _, _, err := HandOut(a.State, "a.pdf", func(io.Writer) error { return no }); !errors.Is(err, no) || len(entries(t, a)) != 0 {
		t.Errorf("%v; left are %q", err, entries(t, a))
	}
	a.State = filepath.Join(a.State, "is not there")
	if _, _, err := HandOut(a.State, "a.pdf", text); err == nil {
		t.Error("it was made nowhere")
	}
}

// What a console left behind that was killed goes, what a living one has handed out stays,
// and so does what only looks like it.
func TestSweepHandedOut(t *testing.T) {
	a := handing(t)
	living, remove, err := HandOut(a.State, "living.pdf", text)
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(a.State, handedOut+"opdeck-1")
	if err := errors.Join(os.Mkdir(left, 0o700), os.WriteFile(filepath.Join(left, lockName), nil, 0o600),
		os.WriteFile(filepath.Join(left, "left.pdf"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(a.State, handedOut+"link")); err != nil {
		t.Fatal(err)
	}
	SweepHandedOut(a.State, a.Log)
	if _, err := os.Stat(living); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "mine")); err != nil {
		t.Error(err)
	}
	if got := entries(t, a); len(got) != 2 {
		t.Errorf("left are %q", got)
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
}
