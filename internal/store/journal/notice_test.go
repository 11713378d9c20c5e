package journal_test

import (
	"testing"
	"time"

	"opdeck/internal/domain/notify"
	"opdeck/internal/domain/notify/notifytest"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

func TestNotices(t *testing.T) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			notifytest.Run(t, func(t *testing.T, now func() time.Time) (out []notify.Store) {
				url := storetest.URL(t, e)
				for range 3 {
					out = append(out, journal.NewNotices(storetest.OpenAt(t, url, now).Core))
				}
				return out
			})
		})
	}
}
