package store_test

import (
	"context"
	"testing"
	"time"

	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// TestBothDatabasesHaveOneTime: core, bulk, a transaction and another handle.
func TestBothDatabasesHaveOneTime(t *testing.T) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			ctx, url := context.Background(), storetest.URL(t, e)
			one, two := storetest.OpenURL(t, url), storetest.OpenURL(t, url)
			var last time.Time
			for i, db := range []*store.DB{one.Core, two.Bulk, two.Core, one.Bulk} {
				now, err := db.Now(ctx)
				if err != nil || now.Before(last) || now.Location() != time.UTC {
					t.Errorf("%d: %v after %v, %v", i, now, last, err)
				}
				last = now
				err = db.Write(ctx, func(tx *store.Tx) error {
					now, err := tx.Now(ctx)
					if now.Before(last) {
						t.Errorf("%d: %v in a transaction after %v", i, now, last)
					}
					last = now
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if off := time.Since(last).Abs(); off > time.Minute {
				t.Errorf("%v off the time of day", off)
			}
		})
	}
}
