package sandbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestAFileThatIsNeverFree: who opens a file that another process keeps does not wait
// for ever, and says what for.
func TestAFileThatIsNeverFree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sandbox.db")
	var pools [2]*sql.DB
	for i := range pools {
		db, err := sql.Open("sqlite", dataSource(path, 0))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		pools[i] = db
	}
	tx, err := pools[0].Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	_, busy := pools[1].Begin()
	if !isBusy(busy) {
		t.Fatalf("the second writer met %v", busy)
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := whenFree(context.Background(), path, func() error { return busy })
		if took := time.Since(began); took != freeWait || err == nil ||
			!strings.Contains(err.Error(), "another process has kept "+path) {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// TestAnOlderDataFile holds that sample data of an older version is made anew, and that of a newer one is kept.
func TestAnOlderDataFile(t *testing.T) {
	for version, refused := range map[int]bool{schemaVersion - 1: false, schemaVersion + 1: true} {
		path := filepath.Join(t.TempDir(), "data.db")
		db, err := sql.Open("sqlite", dataSource(path, 0))
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.ExecContext(t.Context(), fmt.Sprintf(`CREATE TABLE operation(other TEXT); PRAGMA user_version = %d`, version))
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), Options{Path: path})
		if (err != nil) != refused {
			t.Errorf("version %d: %v", version, err)
		}
		if s != nil {
			s.Close()
		}
	}
}
