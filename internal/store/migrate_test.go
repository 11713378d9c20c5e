package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

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

// TestMigrationWaitsForTheOthers: a PostgreSQL database is not migrated while a program that would go on with the older
// tables has a session, whether it names its session or, as earlier ones, does not.
func TestMigrationWaitsForTheOthers(t *testing.T) {
	ctx := context.Background()
	old := store.Options{URL: storetest.Bare(t, store.Postgres)}
	up := old
	up.Migrations = storetest.Newer(t, "CREATE TABLE newer (n INTEGER);")
	refused := func(who string) {
		t.Helper()
		if _, err := store.Open(ctx, up); !store.IsKind(err, store.InUse) {
			t.Errorf("with %s: %v; want InUse", who, err)
		}
	}
	s, err := store.Open(ctx, old)
	if err != nil {
		t.Fatal(err)
	}
	refused("this program")
	if err := write(ctx, s.Core, "a"); err != nil {
		t.Errorf("after a refused migration: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	earlier, err := pgx.Connect(ctx, old.URL)
	if err != nil {
		t.Fatal(err)
	}
	refused("an earlier one")
	if err := earlier.Close(ctx); err != nil {
		t.Error(err)
	}
	if s, err = store.Open(ctx, up); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestWritesCheckTheVersion: a program does not write to tables that another one has migrated, or that were taken back.
func TestWritesCheckTheVersion(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for _, c := range []struct {
			change string
			want   store.Kind
		}{
			{"INSERT INTO opdeck_core_version (version_id, is_applied) SELECT 9001, is_applied FROM opdeck_core_version " +
				"WHERE version_id = 1", store.Newer},
			{"DELETE FROM opdeck_core_version WHERE version_id > 1", store.Lost},
		} {
			if err := s.Core.Exec(ctx, c.change); err != nil {
				t.Fatal(err)
			}
			called := false
			err := s.Core.Write(ctx, func(*store.Tx) error { called = true; return nil })
			if !store.IsKind(err, c.want) || called {
				t.Errorf("%v, called %v; want %s", err, called, c.want)
			}
		}
	})
}
