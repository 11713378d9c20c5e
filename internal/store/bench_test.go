package store_test

import (
	"context"
	"testing"

	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// BenchmarkOpen measures what a new process pays for its store: open both
// databases and find the tables as they should be.
func BenchmarkOpen(b *testing.B) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		b.Run(e.String(), func(b *testing.B) {
			url := storetest.URL(b, e)
			storetest.OpenURL(b, url)
			for b.Loop() {
				s, err := store.Open(context.Background(), store.Options{URL: url})
				if err == nil {
					err = s.Close()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCommit is one small transaction that waits for the disk, and one that
// does not (WriteUnsynced).
func BenchmarkCommit(b *testing.B) {
	st := storetest.Open(b, store.SQLite)
	for name, write := range map[string]func(context.Context, func(*store.Tx) error) error{"durable": st.Core.Write, "unsynced": st.Core.WriteUnsynced} {
		b.Run(name, func(b *testing.B) {
			ctx := context.Background()
			for b.Loop() {
				if err := write(ctx, func(tx *store.Tx) error {
					err := tx.Exec(ctx, "INSERT INTO limit_throttle (base_url, account, class, at_ns) VALUES (?, ?, ?, ?)", "b", "a", "c", 1)
					return err
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
