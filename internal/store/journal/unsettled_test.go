package journal_test

import (
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
			if err := rows.Add(ctx, r); err != nil {
				t.Fatal(err)
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
