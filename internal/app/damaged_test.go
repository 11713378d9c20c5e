package app

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/verdict"
)

// TestADamagedPageOfTheCore: one damaged page, of a table or of one of its indexes, is the cause store_damaged, found
// while the store is opened or by the first reads and the try of a write.
func TestADamagedPageOfTheCore(t *testing.T) {
	for _, name := range []string{"session", "sqlite_autoindex_unsettled_1", "unsettled_claim", "audit"} {
		t.Run(name, func(t *testing.T) {
			h := newBackupHome(t)
			var page, size int64
			h.with(func(a *App) {
				if err := a.Audit.Note(h.ctx, api.ActorOf(h.ctx), api.Event{Name: "console.open"}); err != nil {
					t.Fatal(err)
				}
				if err := a.Store.Core.QueryRow(h.ctx, "SELECT rootpage, page_size FROM sqlite_master, pragma_page_size "+
					"WHERE name = ?", name).Scan(&page, &size); err != nil {
					t.Fatal(err)
				}
			})
			f, err := os.OpenFile(filepath.Join(h.opt.StateFlag, "opdeck.db"), os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, int(size)), (page-1)*size)
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
			a, err := Open(context.Background(), h.opt)
			var first verdict.Finding
			if err != nil {
				first, _ = Unopened(err, time.Now()).First()
			} else {
				first, _ = Verdict(h.ctx, a).First()
				_ = a.Close() // it says the same
			}
			if first.Cause != "store_damaged" {
				t.Errorf("%v: %+v", err, first)
			}
		})
	}
}
