package inbox_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"opdeck/api/hook"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/receiver/receivertest"
	"opdeck/internal/store"
	"opdeck/internal/store/inbox"
	"opdeck/internal/store/storetest"
)

// TestPrune: deliveries go when they are too old, in batches, but those that something still
// needs: the merge into the index, the next try of it, the check of a token that came before.
func TestPrune(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx := context.Background()
		in, other := inbox.New(st.Bulk, "https://service.test", "machine"), inbox.New(st.Bulk, "https://service.test", "other")
		var at time.Time
		put := func(in *inbox.Inbox, n int, change func(*receiver.Record)) receiver.Stored {
			r := receivertest.Record(n, fmt.Sprintf("op-%d", n))
			if at.IsZero() {
				at = r.ReceivedAt
			}
			r.ReceivedAt = at
			if change != nil {
				change(&r)
			}
			return insert(t, in, r)[0].Stored
		}
		for n := range 10 {
			put(in, n, nil)
		}
		retried := put(in, 10, nil)
		tokened := put(in, 11, func(r *receiver.Record) {
			r.Token = &hook.TokenUse{ID: sha256.Sum256([]byte("t")), Until: at.Add(100 * 24 * time.Hour)}
		})
		put(in, 12, nil)
		young := put(in, 13, func(r *receiver.Record) { r.ReceivedAt = at.Add(48 * time.Hour) })
		put(other, 14, nil)
		unmerged := put(in, 15, nil)
		if err := in.Advance(ctx, young.Seq, receiver.Retry{Key: retried.Key, Tries: 1, First: at, Last: at, Next: at}); err != nil {
			t.Fatal(err)
		}
		for _, at := range []time.Time{at, at.Add(48 * time.Hour)} {
			if err := in.Reject(ctx, nil, []receiver.Rejection{{At: at, Reason: "malformed"}}); err != nil {
				t.Fatal(err)
			}
		}
		before := at.Add(24 * time.Hour)
		removed := 0
		for {
			n, err := inbox.Prune(ctx, st.Bulk, before, at.Add(72*time.Hour), 5)
			if err != nil {
				t.Fatal(err)
			}
			if removed += n; n < 5 {
				break
			}
		}
		if removed != 12 { // ten, the last one, and that of the other account, which has no index
			t.Errorf("%d were removed", removed)
		}
		left, err := in.List(ctx, receiver.Filter{})
		if err != nil || len(left) != 4 || left[0].Key != unmerged.Key || left[1].Key != young.Key || left[2].Key != tokened.Key || left[3].Key != retried.Key {
			t.Errorf("%d are left, %v", len(left), err)
		}
		if n, err := inbox.PruneRejected(ctx, st.Bulk, before, 5); err != nil || n != 1 {
			t.Error(n, err)
		}
		if list, err := in.Rejected(ctx, 10); err != nil || len(list) != 1 || !list[0].At.Equal(at.Add(48*time.Hour)) {
			t.Error(list, err)
		}
	})
}
