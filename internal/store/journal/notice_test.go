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
			notifytest.Run(t, func(t *testing.T, now func() time.Time) notify.Store {
				return journal.NewNotices(storetest.OpenAt(t, storetest.URL(t, e), now).Core)
			})
		})
	}
}

// TestNoticesOfThirtyDays: three instances with handles of their own watch and send for 30 days; 200 times one of them
// ends, also between claim and record. Each notice arrives once.
func TestNoticesOfThirtyDays(t *testing.T) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			c := new(notifytest.Clock)
			url := storetest.URL(t, e)
			var stores []notify.Store
			for range 3 {
				stores = append(stores, journal.NewNotices(storetest.OpenAt(t, url, c.Now).Core))
			}
			notifytest.Steps(t, stores, c, notifytest.NewWorld(1, c.Now(), 30, 5), 200)
		})
	}
}
