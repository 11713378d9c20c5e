package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

func TestStampShowsWrites(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	open := func() *store.Store {
		s, err := store.Open(context.Background(), store.Options{URL: "sqlite", Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	mine, others := open(), open()
	first, ok := mine.Version(t.Context())
	if !ok {
		t.Fatal("files tell no stamp")
	}
	if again, _ := mine.Version(t.Context()); again != first {
		t.Error("the stamp changed and nobody wrote")
	}
	if err := others.Core.Exec(context.Background(), "CREATE TABLE stamp_test (n INTEGER)"); err != nil {
		t.Fatal(err)
	}
	core, _ := mine.Version(t.Context())
	if core == first {
		t.Error("a write to the core database left the stamp as it was")
	}
	if err := others.Bulk.Exec(context.Background(), "CREATE TABLE stamp_test (n INTEGER)"); err != nil {
		t.Fatal(err)
	}
	if bulk, _ := mine.Version(t.Context()); bulk == core {
		t.Error("a write to the bulk database left the stamp as it was")
	}
	mem, err := store.Open(context.Background(), store.Options{URL: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	if _, ok := mem.Version(t.Context()); ok {
		t.Error("memory has no files, and yet a stamp")
	}
}

// Two writes in one instant are two, one of this process is reported as well, and
// what was not committed is none.
func TestStampIsExact(t *testing.T) {
	ctx := t.Context()
	s := storetest.Open(t, store.SQLite)
	if err := s.Core.Exec(ctx, "CREATE TABLE exact (n INTEGER)"); err != nil {
		t.Fatal(err)
	}
	last, _ := s.Version(ctx)
	for i := range 100 {
		if err := s.Core.Exec(ctx, "INSERT INTO exact VALUES (?)", i); err != nil {
			t.Fatal(err)
		}
		now, _ := s.Version(ctx)
		if now == last || now.Index() != last.Index() {
			t.Fatalf("write %d: %v after %v", i, now, last)
		}
		last = now
	}
	undone := errors.New("undone")
	if err := s.Core.Write(ctx, func(tx *store.Tx) error {
		err := tx.Exec(ctx, "INSERT INTO exact VALUES (1)")
		return errors.Join(err, undone)
	}); !errors.Is(err, undone) {
		t.Fatal(err)
	}
	if now, _ := s.Version(ctx); now != last {
		t.Error("what was taken back is reported")
	}
}

func TestWatchReportsWritesOfOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var both [2]*store.Store
	for i := range both {
		s, err := store.Open(ctx, store.Options{URL: "sqlite", Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		both[i] = s
	}
	written, ok := both[0].Watch(ctx)
	if !ok {
		t.Skip("this system does not tell")
	}
	if err := both[1].Core.Exec(ctx, "CREATE TABLE watch_test (n INTEGER)"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-written:
	case <-time.After(time.Minute):
		t.Fatal("nothing was reported of a write")
	}
}

// Any number of consoles watch through one look at the folder, which ends with
// the last of them and begins again with the next.
func TestManyWatch(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{URL: "sqlite", Dir: filepath.Join(t.TempDir(), "state")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for round := range 2 {
		ctx, leave := context.WithCancel(t.Context())
		var all []<-chan struct{}
		for range 300 { // more than a system has instances for
			written, ok := s.Watch(ctx)
			if !ok {
				t.Skip("this system does not tell")
			}
			all = append(all, written)
		}
		if err := s.Core.Exec(ctx, "CREATE TABLE many_"+string(rune('a'+round))+" (n INTEGER)"); err != nil {
			t.Fatal(err)
		}
		late := time.After(time.Minute)
		for i, written := range all {
			select {
			case <-written:
			case <-late:
				t.Fatalf("nothing was reported to the %dth", i)
			}
		}
		leave()
	}
}
