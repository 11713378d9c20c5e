package journal_test

import (
	"testing"
	"time"

	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

// TestObservations: the newest body of a name counts, scopes are apart, and a removed one is gone.
func TestObservations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		mine, other := journal.NewObservations(s.Core, "a"), journal.NewObservations(s.Core, "")
		for _, put := range []struct {
			to         *journal.Observations
			name, body string
		}{{mine, "x", "1"}, {mine, "x", "2"}, {mine, "y", "3"}, {other, "x", "4"}} {
			if err := put.to.Put(ctx, "port", put.name, []byte(put.body)); err != nil {
				t.Fatal(err)
			}
		}
		if err := mine.Remove(ctx, "port", "y"); err != nil {
			t.Fatal(err)
		}
		list, now, err := mine.All(ctx)
		if err != nil || len(list) != 1 || list[0].Part != "port" || list[0].Name != "x" || string(list[0].Body) != "2" ||
			now.Sub(list[0].Seen).Abs() > time.Minute {
			t.Errorf("%+v at %s, %v", list, now, err)
		}
	})
}
