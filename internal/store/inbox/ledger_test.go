package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"opdeck/api/hook"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/receiver/receivertest"
	"opdeck/internal/store/inbox"
)

// The mark never moves back, failures are listed with it, and Settle takes them off.
func ledger(t *testing.T, in *inbox.Inbox) {
	ctx := context.Background()
	mark := func(want int64) {
		t.Helper()
		if got, err := in.Merged(ctx); err != nil || got != want {
			t.Fatalf("the mark is %d, %v; want %d", got, err, want)
		}
	}
	mark(0)
	for n := range 4 {
		insert(t, in, receivertest.Record(n, "op"))
	}
	if b, err := in.Backlog(ctx); err != nil || b != (receiver.Backlog{Behind: 4}) {
		t.Errorf("%+v %v", b, err)
	}
	first := receiver.Retry{}.Again(receivertest.ID(1), "it is locked", receivertest.Start)
	if err := in.Advance(ctx, 2, first); err != nil {
		t.Fatal(err)
	}
	mark(2)
	for _, seq := range []int64{1, 0, 2} {
		if err := in.Advance(ctx, seq); err != nil {
			t.Fatal(err)
		}
		mark(2)
	}
	second := receiver.Retry{}.Again(receivertest.ID(0), "poison", receivertest.Start.Add(time.Second))
	if err := in.Advance(ctx, 0, second); err != nil {
		t.Fatal(err)
	}
	if b, err := in.Backlog(ctx); err != nil || b != (receiver.Backlog{Behind: 2, Waiting: 2, Oldest: receivertest.Start,
		Next: receivertest.Start.Add(receiver.FirstRetry), Reason: "poison"}) {
		t.Errorf("%+v %v", b, err)
	}
	due := func(now time.Time, want ...receiver.Retry) {
		t.Helper()
		if got, err := in.Due(ctx, now, 10); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("at %s: %+v %v", now, got, err)
		}
	}
	due(receivertest.Start)
	due(receivertest.Start.Add(receiver.FirstRetry), first)
	due(receivertest.Start.Add(time.Minute), first, second)
	due(receivertest.Start.Add(-2*time.Hour), first, second) // the clock that wrote them was ahead
	if err := in.Advance(ctx, 0, first.Again(receivertest.ID(1), "still",
		receivertest.Start.Add(time.Minute))); err != nil {
		t.Fatal(err)
	}
	if s := get(t, in, receivertest.ID(1)); s.Retry.Tries != 2 || s.Retry.Reason != "still" ||
		!s.Retry.First.Equal(receivertest.Start) || !s.Retry.Next.Equal(
		receivertest.Start.Add(time.Minute+2*receiver.FirstRetry)) {
		t.Errorf("%+v", s.Retry)
	}
	if s := get(t, in, receivertest.ID(2)); s.Retry.Waiting() {
		t.Errorf("%+v", s.Retry)
	}
	rows, err := in.List(ctx, receiver.Filter{Waiting: true})
	if err != nil || len(rows) != 2 || rows[0].Key != receivertest.ID(1) || rows[1].Key != receivertest.ID(0) ||
		!(receiver.Filter{Waiting: true}).Match(rows[0]) {
		t.Errorf("%+v %v", rows, err)
	}
	for range 2 {
		if err := in.Settle(ctx, receivertest.ID(0)); err != nil {
			t.Fatal(err)
		}
	}
	due(receivertest.Start.Add(time.Minute))
	if b, err := in.Backlog(ctx); err != nil || b.Waiting != 1 {
		t.Errorf("%+v %v", b, err)
	}
}

// The counts add up, and the last hundred stay.
func rejects(t *testing.T, in *inbox.Inbox) {
	ctx := context.Background()
	if list, err := in.Rejected(ctx, 10); err != nil || len(list) != 0 {
		t.Fatal(list, err)
	}
	one := receiver.Rejection{At: receivertest.Start, Status: 401, Reason: "signature", Detail: "It does not fit.",
		Source: "192.0.2.1", Algorithm: "HS256", Claims: []string{"iat", "sub"},
		Request: "POST /hooks", Header: []receiver.HeaderField{{Name: "Authorization", Value: receiver.Redacted}},
		Body: []byte("\x00\xff{"), Size: 9000}
	count := receiver.RejectCount{Reason: "signature", N: 1, First: receivertest.Start, Last: receivertest.Start,
		Detail: one.Detail, Source: one.Source}
	if err := in.Reject(ctx, []receiver.RejectCount{count}, []receiver.Rejection{one}); err != nil {
		t.Fatal(err)
	}
	list, err := in.Rejected(ctx, 10)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	one.ID = list[0].ID
	if got, err := in.Rejection(ctx, one.ID); err != nil || !reflect.DeepEqual(got, one) ||
		!reflect.DeepEqual(list[0], one) {
		t.Errorf("%+v %v", got, err)
	}
	if id, ok := receiver.RejectionID(one.Key()); !ok || id != one.ID {
		t.Error(one.Key())
	}
	var flood []receiver.Rejection
	for n := range 250 {
		flood = append(flood, receiver.Rejection{At: receivertest.Start.Add(time.Duration(n) * time.Second), Status: 401,
			Reason: "token", Detail: fmt.Sprint(n), Source: "192.0.2.66"})
	}
	more := receiver.RejectCount{Reason: "token", N: 250, First: receivertest.Start,
		Last: receivertest.Start.Add(time.Minute), Detail: "249", Source: "192.0.2.66"}
	count.N, count.Last, count.Detail = 4, receivertest.Start.Add(time.Second), "again"
	for part := range slices.Chunk(flood, 90) {
		if err := in.Reject(ctx, nil, part); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Reject(ctx, []receiver.RejectCount{count, more}, nil); err != nil {
		t.Fatal(err)
	}
	list, err = in.Rejected(ctx, 1000)
	if err != nil || len(list) != receiver.MaxRejected || list[0].Detail != "249" || list[99].Detail != "150" {
		t.Errorf("%d %+v %v", len(list), list[len(list)-1:], err)
	}
	counts, err := in.RejectCounts(ctx)
	want := []receiver.RejectCount{more, {Reason: "signature", N: 5, First: receivertest.Start,
		Last: receivertest.Start.Add(time.Second), Detail: "again", Source: one.Source}}
	if err != nil || !reflect.DeepEqual(counts, want) {
		t.Errorf("%+v %v", counts, err)
	}
	if _, err := in.Rejection(ctx, 1<<40); !errors.Is(err, receiver.ErrNotFound) {
		t.Error(err)
	}
}

// A late token counts with the body that it came with first, and a delivery that
// is known may come again with any.
func lateTokens(t *testing.T, in *inbox.Inbox) {
	with := func(n int, body string, token byte, late bool) receiver.Record {
		r := receivertest.Record(n, body)
		r.Verdict.Bound = false
		r.Token = &hook.TokenUse{ID: [32]byte{token}, Until: receivertest.Start.Add(24 * time.Hour), Late: late}
		return r
	}
	for i, c := range []struct {
		r    receiver.Record
		want receiver.Outcome
	}{
		{with(1, "op", 1, false), receiver.OutcomeNew},
		{with(1, "op", 1, true), receiver.OutcomeDuplicate},      // the retry of what is known
		{with(2, "forged", 1, true), receiver.OutcomeReused},     // captured, another hook_id
		{with(1, "forged", 1, true), receiver.OutcomeReused},     // captured, the same hook_id
		{with(3, "op", 3, true), receiver.OutcomeNew},            // a retry of what never came
		{with(4, "forged", 3, true), receiver.OutcomeReused},     //
		{with(3, "op", 3, true), receiver.OutcomeDuplicate},      //
		{with(3, "op", 9, true), receiver.OutcomeDuplicate},      // known body, another token
		{with(3, "forged", 10, true), receiver.OutcomeReused},    // known hook_id, another body
		{with(5, "op", 1, false), receiver.OutcomeNew},           // young: one token for many
		{with(5, "op", 1, true), receiver.OutcomeDuplicate},      // and its retry
		{with(6, "op", 11, false), receiver.OutcomeNew},          //
		{with(6, "forged", 11, true), receiver.OutcomeReused},    //
		{with(6, "forged", 11, false), receiver.OutcomeConflict}, // young tokens bring any body: it is seen
	} {
		if res := insert(t, in, c.r); res[0].Outcome != c.want {
			t.Errorf("%d: %s, want %s", i, res[0].Outcome, c.want)
		}
	}
	res := insert(t, in, with(20, "op", 20, true), receivertest.Record(21, "op"), with(22, "forged", 20, true),
		with(20, "op", 20, true), with(21, "forged", 21, true), receivertest.Record(23, "op"))
	var got []receiver.Outcome
	for _, r := range res {
		got = append(got, r.Outcome)
	}
	want := []receiver.Outcome{receiver.OutcomeNew, receiver.OutcomeNew, receiver.OutcomeReused, receiver.OutcomeDuplicate,
		receiver.OutcomeReused, receiver.OutcomeNew}
	if !slices.Equal(got, want) || res[5].Stored.Key != receivertest.ID(23) {
		t.Error(got)
	}
	if _, err := in.Get(context.Background(), receivertest.ID(22)); !errors.Is(err, receiver.ErrNotFound) {
		t.Error("a refused delivery was stored:", err)
	}
	// After its end a token may be forgotten, and its place is given back.
	old := with(30, "op", 30, true)
	old.Token.Until = receivertest.Start.Add(-48 * time.Hour)
	insert(t, in, old)
	insert(t, in, with(31, "op", 31, true)) // forgets the ones that ended
	if res := insert(t, in, with(32, "op", 30, true)); res[0].Outcome != receiver.OutcomeNew {
		t.Error(res[0].Outcome)
	}
}

// What one account has, does or learns, no other sees, changes or counts.
func twoAccounts(t *testing.T, open account) {
	ctx := context.Background()
	a, b := open("a"), open("b")
	insert(t, a, receivertest.Record(1, "op"), receivertest.Record(2, "op"))
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(a.AddWords(ctx, []hook.Said{{Field: hook.FieldStatus, Code: 1, Word: "PENDING", OPID: "op"}}))
	check(a.Advance(ctx, 1, receiver.Retry{}.Again(receivertest.ID(1), "locked", receivertest.Start)))
	check(a.Reject(ctx, []receiver.RejectCount{{Reason: "token", N: 1, First: receivertest.Start,
		Last: receivertest.Start}}, []receiver.Rejection{{At: receivertest.Start, Reason: "token"}}))
	empty := func(in *inbox.Inbox) {
		t.Helper()
		_, getErr := in.Get(ctx, receivertest.ID(1))
		list, err1 := in.List(ctx, receiver.Filter{})
		after, err2 := in.After(ctx, 0, 10)
		last, err3 := in.LastSeq(ctx)
		counts, err4 := in.Counts(ctx)
		came, err5 := in.Arrivals(ctx, 10)
		words, err7 := in.Words(ctx)
		mark, err8 := in.Merged(ctx)
		due, err9 := in.Due(ctx, receivertest.Start.Add(time.Hour), 10)
		backlog, err10 := in.Backlog(ctx)
		kept, err11 := in.Rejected(ctx, 10)
		why, err12 := in.RejectCounts(ctx)
		_, oneErr := in.Rejection(ctx, 1)
		check(errors.Join(err1, err2, err3, err4, err5, err7, err8, err9, err10, err11, err12))
		if !errors.Is(getErr, receiver.ErrNotFound) || !errors.Is(oneErr, receiver.ErrNotFound) || mark != 0 || last != 0 ||
			backlog != (receiver.Backlog{}) ||
			len(list)+len(after)+len(counts)+came.N+len(words)+len(due)+len(kept)+len(why) != 0 {
			t.Errorf("an empty inbox shows %v %v %v %v %v %+v %v %v %v %+v %v %v", getErr, list, after, last, counts, words,
				mark, due, backlog, kept, why, oneErr)
		}
	}
	empty(b)
	check(b.Settle(ctx, receivertest.ID(1)))
	check(b.Settle(ctx, receivertest.ID(2)))

	// The same ids under the other account are rows of their own.
	other := receivertest.Record(1, "of b")
	other.Token = &hook.TokenUse{ID: [32]byte{1}, Until: receivertest.Start.Add(time.Hour), Late: true}
	if res := insert(t, b, other, receivertest.Record(2, "op")); res[0].Outcome != receiver.OutcomeNew ||
		res[1].Outcome != receiver.OutcomeNew {
		t.Errorf("%+v", res)
	}
	mine := receivertest.Record(3, "of a")
	mine.Token = &hook.TokenUse{ID: [32]byte{1}, Until: receivertest.Start.Add(time.Hour), Late: true}
	if res := insert(t, a, mine); res[0].Outcome != receiver.OutcomeNew {
		t.Errorf("the other account's token counts here: %+v", res)
	}
	if s := get(t, a, receivertest.ID(1)); string(s.Raw) != string(receivertest.Body(1, "op")) || s.Deliveries != 1 ||
		!s.Retry.Waiting() {
		t.Errorf("%+v", s)
	}
	if s := get(t, b, receivertest.ID(1)); string(s.Raw) != string(receivertest.Body(1, "of b")) || s.Retry.Waiting() {
		t.Errorf("%+v", s)
	}
	rows, err := b.After(ctx, 0, 10)
	check(err)
	if len(rows) != 2 || rows[0].Key != receivertest.ID(1) || rows[1].Key != receivertest.ID(2) {
		t.Errorf("%+v", rows)
	}
	if back, err := a.Backlog(ctx); err != nil || back.Waiting != 1 || back.Behind != 2 {
		t.Errorf("%+v %v", back, err)
	}
	if back, err := b.Backlog(ctx); err != nil || back.Waiting != 0 || back.Behind != 2 {
		t.Errorf("%+v %v", back, err)
	}
}
