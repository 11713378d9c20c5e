package opindex_test

import (
	"context"
	"testing"

	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/indextest"
	"opdeck/internal/store"
)

// TestUpgradeIsTold opens the store of an older program: whoever waits is told, once,
// and the words of what was there are found as before.
func TestUpgradeIsTold(t *testing.T) {
	ctx, dir, told := context.Background(), t.TempDir(), 0
	open := func() *store.Store {
		s, err := store.Open(ctx, store.Options{URL: "sqlite", Dir: dir, Upgrading: func() { told++ }})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	x := openIndex(t, s)
	op := indextest.Options{}.Make(1)
	op.Comment = "ends with zq"
	put(t, x, index.List, now, op)
	if told != 0 {
		t.Errorf("told %d times of a new store", told)
	}
	for _, sql := range []string{ // as version 5 left it
		"DROP TABLE index_party_words_terms", "DROP TABLE index_words_terms", "DELETE FROM opdeck_bulk_version WHERE version_id = 6",
		"INSERT INTO index_words (index_words) VALUES ('delete-all')",
		"INSERT INTO index_words (rowid, body) SELECT n, reference || comment || doc_text FROM index_op",
	} {
		if err := s.Bulk.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s = open()
		x = openIndex(t, s)
		if n, err := x.Count(ctx, parse(t, "comment:zq"), now); err != nil || n != 1 {
			t.Errorf("found %d, %v", n, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}
