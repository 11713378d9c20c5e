package liveness_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"opdeck/internal/store"
	"opdeck/internal/store/liveness"
)

func TestBootsShowEndedProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s, err := store.Open(t.Context(), store.Options{URL: "sqlite", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := liveness.NewBoots(s.Core)
	release, ok := b.Hold("one")
	if !ok || b.Gone("one") || b.Gone("never seen") {
		t.Errorf("held %v, gone %v, %v", ok, b.Gone("one"), b.Gone("never seen"))
	}
	release(false)
	if b.Gone("one") {
		t.Error("who left in order is not known to have crashed")
	}
	if release, ok = b.Hold("behind"); !ok {
		t.Fatal("not marked")
	}
	release(true)
	if !b.Gone("behind") {
		t.Error("who left acts without an outcome behind counts as alive")
	}
	crashed := filepath.Join(dir, "boot-two.lock") // what is left of one: the file without its lock
	if err := os.WriteFile(crashed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !b.Gone("two") {
		t.Error("a process that ended counts as alive")
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(crashed, old, old); err != nil {
		t.Fatal(err)
	}
	release, _ = b.Hold("three")
	defer release(false)
	if _, err := os.Stat(crashed); err == nil {
		t.Error("the mark of who ended long ago is kept")
	}
	mem, err := store.Open(t.Context(), store.Options{URL: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	if liveness.NewBoots(mem.Core) != nil {
		t.Error("memory is shared with nobody")
	}
}
