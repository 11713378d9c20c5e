package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// TestUsable: a store that can be written is usable on every engine, and asking ends no lock of this process.
func TestUsable(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		err := s.Core.Write(t.Context(), func(tx *store.Tx) error {
			if err := s.Core.Usable(t.Context()); err != nil {
				t.Error(err)
			}
			return tx.Exec(t.Context(), "INSERT INTO turn (name, owner, until_us, done_us) VALUES ('x', '', 0, 0)")
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestUnusable: a deleted file and missing permissions are named without a write.
func TestUnusable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("the superuser may write everything: permissions are not tried")
	}
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Options{URL: "sqlite", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	path := s.Core.Path()
	if os.Getuid() != 0 {
		if err := os.Chmod(path, 0o400); err != nil {
			t.Fatal(err)
		}
		if err := s.Core.Usable(t.Context()); !store.IsKind(err, store.ReadOnly) {
			t.Error(err)
		}
	}
	if err := os.Rename(path, filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	if err := s.Core.Usable(t.Context()); !store.IsKind(err, store.Lost) {
		t.Error(err)
	}
}
