package store_test

import (
	"context"
	"strings"
	"testing"

	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// TestFilesBecomeSmaller: what was deleted is given back to the disk, and a log that grew
// is cut once no one reads.
func TestFilesBecomeSmaller(t *testing.T) {
	s := storetest.Open(t, store.SQLite)
	ctx := context.Background()
	sizes := func() (data, log int64) {
		list, err := s.Sizes(ctx)
		if err != nil || len(list) != 2 || list[1].Name != "index" {
			t.Fatal(list, err)
		}
		return list[1].Data, list[1].Log
	}
	if err := s.Bulk.Tune(ctx, "PRAGMA wal_autocheckpoint = 0"); err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("x", 10_000)
	for range 30 {
		err := s.Bulk.Write(ctx, func(tx *store.Tx) error {
			for range 40 {
				if err := tx.Exec(ctx, "INSERT INTO hook_rejected (scope, at_us, status, reason, detail, source, algorithm, claims, "+
					"request, header, body, size) VALUES (1, 1, 400, '', ?, '', '', '', '', '', '', 0)", big); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, log := sizes(); log < 12<<20 {
		t.Fatalf("the log has %d bytes: the test proves nothing", log)
	}
	if err := s.Shorten(ctx); err != nil {
		t.Fatal(err)
	}
	full, log := sizes()
	if log != 0 || full < 12<<20 {
		t.Errorf("the log has %d bytes, the file %d", log, full)
	}
	if err := s.Bulk.Exec(ctx, "DELETE FROM hook_rejected"); err != nil {
		t.Fatal(err)
	}
	steps := 0
	for more := true; more; steps++ {
		var err error
		if more, err = s.Compact(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Shorten(ctx); err != nil {
		t.Fatal(err)
	}
	if data, log := sizes(); steps < 5 || data > 4<<20 || log > 5<<20 {
		t.Errorf("%d steps left %d bytes and a log of %d", steps, data, log)
	}
}

// TestIdle: work that can wait is not done while someone writes or waits to, in this process or
// another, and never holds anyone up.
func TestIdle(t *testing.T) {
	url := storetest.URL(t, store.SQLite)
	s, other := storetest.OpenURL(t, url), storetest.OpenURL(t, url)
	ctx := context.Background()
	none := func(*store.Tx) error { return nil }
	for _, writer := range []*store.Store{s, other} {
		err := writer.Core.Write(ctx, func(*store.Tx) error {
			if err := s.Core.WriteIdle(ctx, none); !store.IsKind(err, store.Busy) {
				t.Errorf("beside a writer: %v", err)
			}
			return s.Bulk.WriteIdle(ctx, none)
		})
		if err != nil {
			t.Error(err)
		}
	}
	if err := s.Core.WriteIdle(ctx, none); err != nil {
		t.Error(err)
	}
}
