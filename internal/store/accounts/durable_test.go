package accounts_test

import (
	"testing"

	"opdeck/api/session"
	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// TestDurable: who has the lease is on the disk before anything is sent in it (rule A5).
func TestDurable(t *testing.T) {
	st := storetest.Open(t, store.SQLite)
	sessions := newSession(t, st, testKey(t), new(storetest.Shift), "")
	row, err := sessions.Load(t.Context(), key1)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Synced(t, st.Core, func() error {
		_, _, err := sessions.Acquire(t.Context(), key1, session.Claim{Incarnation: row.Incarnation, Gen: row.Gen,
			Fence: row.Fence, Owner: session.Owner{ID: "one"}, For: session.Defaults().LeaseHeld})
		return err
	})
}
