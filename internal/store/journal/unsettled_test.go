package journal_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/followup"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

// TestUnsettledRows: rows of one account come back as they were kept, and of two
// who move one the first wins.
func TestUnsettledRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx := t.Context()
		rows := journal.NewUnsettled(st.Core, "a")
		other := journal.NewUnsettled(st.Core, "b")
		now, err := rows.Now(ctx)
		if err != nil || time.Until(now).Abs() > time.Hour {
			t.Fatalf("the store's time is %s: %v", now, err)
		}
		r := followup.Row{Ref: "r1", State: followup.Sending, Sent: now, Next: now.Add(time.Minute), Write: followup.Write{Kind: api.ActUploadDocument,
			Object: "customer", ID: "c1", Who: "ana", Probe: api.Probe{Kind: api.ActUploadDocument, CUID: "c1", FileName: "a.pdf", Size: 3, Before: []string{"x"}, Whole: true, Since: now}}}
		for range 2 { // a second Add changes nothing
			if holder, err := rows.Add(ctx, r, nil); err != nil || holder != nil {
				t.Fatal(holder, err)
			}
			r.Sent = now
		}
		got, err := rows.Rows(ctx)
		if err != nil || len(got) != 1 || !got[0].Sent.Equal(now) || !got[0].Probe.Since.Equal(now) || got[0].Probe.Before[0] != "x" || !got[0].Looked.IsZero() || got[0].Who != "ana" {
			t.Fatalf("%+v %v", got, err)
		}
		if strangers, err := other.Rows(ctx); err != nil || len(strangers) != 0 {
			t.Errorf("another account sees %v %v", strangers, err)
		}
		next := got[0]
		next.State, next.Looked, next.Reads, next.Next = followup.Unknown, now, 1, now.Add(time.Hour)
		if won, err := rows.Move(ctx, got[0], next); err != nil || !won {
			t.Fatal(won, err)
		}
		if won, err := rows.Move(ctx, got[0], next); err != nil || won {
			t.Errorf("a second one moved the same row: %v %v", won, err)
		}
		if err := other.Forget(ctx, "r1"); err != nil {
			t.Fatal(err)
		}
		if got, err = rows.Rows(ctx); err != nil || len(got) != 1 || got[0].State != followup.Unknown || !got[0].Looked.Equal(now) || got[0].Reads != 1 {
			t.Errorf("%+v %v", got, err)
		}
		if err := rows.Forget(ctx, "r1"); err != nil {
			t.Fatal(err)
		}
		if got, err = rows.Rows(ctx); err != nil || len(got) != 0 {
			t.Errorf("%+v %v", got, err)
		}
	})
}

// TestClaim: of the writes with one claim one is kept; another account, another claim and
// what has none are kept beside it. The claim passes on when it is over or not seen.
func TestClaim(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx := t.Context()
		rows, other := journal.NewUnsettled(st.Core, "a"), journal.NewUnsettled(st.Core, "b")
		now, err := rows.Now(ctx)
		if err != nil {
			t.Fatal(err)
		}
		add := func(rows *journal.Unsettled, ref, claim, holds string, free bool) {
			t.Helper()
			holder, err := rows.Add(ctx, followup.Row{Ref: ref, State: followup.Sending, Claim: claim, Sent: now,
				Until: now.Add(time.Minute), Next: now}, func(followup.Row) bool { return free })
			if err != nil || (holder == nil) != (holds == "") || holder != nil && holder.Ref != holds {
				t.Errorf("%s: held by %+v, want %q: %v", ref, holder, holds, err)
			}
		}
		add(rows, "r1", "x", "", false)
		add(rows, "r2", "x", "r1", false)
		add(other, "r3", "x", "", false)
		add(rows, "r4", "y", "", false)
		add(rows, "r5", "", "", false)
		add(rows, "r6", "", "", false)
		add(rows, "r7", "x", "", true)
		add(rows, "r8", "x", "r7", false)
		all, err := rows.Rows(ctx)
		if err != nil || len(all) != 5 {
			t.Fatalf("%d rows are kept, %v", len(all), err)
		}
		for _, r := range all {
			if next := r; r.Ref == "r7" {
				next.State = followup.NotSeen
				if won, err := rows.Move(ctx, r, next); err != nil || !won {
					t.Error(won, err)
				}
			}
		}
		add(rows, "r9", "x", "", false)
	})
}

// TestClaimedByOneOfMany: of processes that claim the same at the same moment one gets it.
func TestClaimedByOneOfMany(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		rows := journal.NewUnsettled(st.Core, "a")
		now, err := rows.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for round := range 20 {
			var kept atomic.Int64
			var all sync.WaitGroup
			for n := range 3 {
				all.Go(func() {
					holder, err := rows.Add(t.Context(), followup.Row{Ref: fmt.Sprintf("%d-%d", round, n), State: followup.Sending,
						Claim: fmt.Sprint("c", round), Sent: now, Until: now.Add(time.Minute), Next: now},
						func(followup.Row) bool { return false })
					if err != nil {
						t.Error(err)
					} else if holder == nil {
						kept.Add(1)
					}
				})
			}
			if all.Wait(); kept.Load() != 1 {
				t.Fatalf("round %d: %d were kept", round, kept.Load())
			}
		}
	})
}
