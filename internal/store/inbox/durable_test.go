package inbox_test

import (
	"testing"

	"opdeck/internal/domain/receiver/receivertest"
	"opdeck/internal/store"
	"opdeck/internal/store/inbox"
	"opdeck/internal/store/storetest"
)

// TestDurable: a delivery is on the disk before its sender is told so.
func TestDurable(t *testing.T) {
	db := storetest.Open(t, store.SQLite).Bulk
	storetest.Synced(t, db, func() error {
		_, err := inbox.New(db, "https://service.test", "machine").Insert(t.Context(),
			receivertest.Record(1, "op"))
		return err
	})
}
