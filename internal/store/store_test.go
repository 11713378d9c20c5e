package store

import (
	"context"
	"path/filepath"
	"testing"
)

func TestOpenTwiceAndWrite(t *testing.T) {
	ctx := context.Background()
	for _, opt := range []Options{{URL: "sqlite", Dir: filepath.Join(t.TempDir(), "a", "b")}, {URL: "memory"}} {
		s, err := Open(ctx, opt)
		if err != nil {
			t.Fatal(err)
		}
		err = s.Core.Write(ctx, func(tx *Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO job (id, kind, context, step, body, owner, created_us, updated_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
				"1", "k", "c", "s", "{}", "me", 1, 2)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if err := s.Core.QueryRow(ctx, "SELECT count(*) FROM job WHERE context = ?", "c").Scan(&n); err != nil || n != 1 {
			t.Fatalf("%d rows, %v", n, err)
		}
		if opt.URL == "sqlite" {
			again, err := Open(ctx, opt)
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
