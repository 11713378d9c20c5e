package store_test

import (
	"testing"

	"opdeck/internal/receiver/receivertest"
	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

func TestInbox(t *testing.T) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			receivertest.Run(t, func(t *testing.T) receivertest.Inbox { return store.NewInbox(storetest.Open(t, e).Bulk) })
		})
	}
}
