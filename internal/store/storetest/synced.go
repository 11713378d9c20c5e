package storetest

import (
	"context"
	"testing"

	"opdeck/internal/store"
)

// Synced runs do, which must change db, an SQLite file, and fails unless it wrote by the connection whose commits wait
// for the disk. Nothing else may write meanwhile.
func Synced(t testing.TB, db *store.DB, do func() error) {
	t.Helper()
	const full = 2 // of the pragma synchronous
	// of data_version each connection has its own: it changes with each commit by another connection
	synced, level := pragma(t, db.Write, "data_version"), pragma(t, db.Write, "synchronous")
	reader := pragma(t, db.WriteUnsynced, "data_version")
	if err := do(); err != nil {
		t.Fatal(err)
	}
	switch {
	case level != full:
		t.Errorf("the connection for durable data has synchronous = %d", level)
	case pragma(t, db.WriteUnsynced, "data_version") == reader:
		t.Error("nothing was written, or not by the connection that waits for the disk")
	case pragma(t, db.Write, "data_version") != synced:
		t.Error("it was written by a connection that does not wait for the disk")
	}
}

// pragma reads a number of the connection that write uses.
func pragma(t testing.TB, write func(context.Context, func(*store.Tx) error) error, name string) (n int64) {
	t.Helper()
	err := write(t.Context(), func(tx *store.Tx) error {
		return tx.QueryRow(t.Context(), "PRAGMA "+name).Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
