package store_test

import (
	"context"
	"strings"
	"testing"

	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// TestMigrationIsApplied once, keeps what was there, is announced once, and shuts
// the program without it out.
func TestMigrationIsApplied(t *testing.T) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			ctx, announced := context.Background(), 0
			old := store.Options{URL: storetest.Bare(t, e), Upgrading: func() { announced++ }}
			s, err := store.Open(ctx, old)
			if err != nil {
				t.Fatal(err)
			}
			if err := write(ctx, s.Core, "kept"); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if announced != 0 {
				t.Error("a new store is announced as an upgrade")
			}
			up := old
			up.Migrations = storetest.Newer(t, "ALTER TABLE probe ADD COLUMN colour TEXT NOT NULL DEFAULT 'red';")
			keep := up
			keep.KeepVersion = true
			if _, err := store.Open(ctx, keep); !store.IsKind(err, store.Older) || !strings.Contains(err.Error(), "opdeck migrate") {
				t.Errorf("a newer program that must not migrate: %v; want Older", err)
			}
			if s, err = store.Open(ctx, old); err != nil {
				t.Fatalf("the old program afterwards: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			for range 2 {
				if s, err = store.Open(ctx, up); err != nil {
					t.Fatal(err)
				}
				var n int
				if err := s.Core.QueryRow(ctx, "SELECT COUNT(*) FROM probe WHERE v = 'kept' AND colour = 'red'").Scan(&n); err != nil || n != 1 {
					t.Errorf("%d rows, %v", n, err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			if announced != 1 {
				t.Errorf("announced %d times", announced)
			}
			if _, err := store.Open(ctx, old); !store.IsKind(err, store.Newer) || !strings.Contains(err.Error(), "version 99") {
				t.Errorf("the old program: %v; want Newer", err)
			}
		})
	}
}
