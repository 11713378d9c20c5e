package inbox_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"opdeck/api/hook"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/receiver/receivertest"
	"opdeck/internal/store"
	"opdeck/internal/store/inbox"
	"opdeck/internal/store/storetest"
)

// account opens the inbox of the account called name; all of one call of open
// share a database.
type account func(name string) *inbox.Inbox

func TestInbox(t *testing.T) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			suite(t, func(t *testing.T) account {
				s := storetest.Open(t, e)
				return func(name string) *inbox.Inbox { return inbox.New(s.Bulk, "https://service.test", name) }
			})
		})
	}
}

// suite runs over the inboxes of empty databases, which open returns.
func suite(t *testing.T, open func(t *testing.T) account) {
	for name, test := range map[string]func(*testing.T, *inbox.Inbox){
		"keeps every byte": keeps, "same twice": duplicates, "conflict": conflicts, "one after another": oneAfterAnother,
		"raised": raised, "lists": lists, "after": after, "parallel": parallel,
		"words": words, "arrivals": arrivals, "ledger": ledger, "rejects": rejects,
		"late tokens": lateTokens,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)("machine")) })
	}
	t.Run("two accounts", func(t *testing.T) { twoAccounts(t, open(t)) })
}

func insert(t *testing.T, in *inbox.Inbox, records ...receiver.Record) []receiver.Result {
	t.Helper()
	res := make([]receiver.Result, len(records))
	for i, r := range records {
		var err error
		if res[i], err = in.Insert(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	return res
}

func get(t *testing.T, in *inbox.Inbox, key string) receiver.Stored {
	t.Helper()
	s, err := in.Get(context.Background(), key)
	if err != nil {
		t.Fatal(key, err)
	}
	return s
}

func keeps(t *testing.T, in *inbox.Inbox) {
	r := receivertest.Record(1, "op")
	r.Raw = []byte("\x00\xff{ \"a\":1.0 }\r\n\u2028")
	r.Hash = sha256.Sum256(r.Raw)
	r.Key, r.HookID, r.Object, r.ObjectID, r.CUID, r.Type = "sha256:x", "", "", "", "", -7
	r.Status, r.Reason, r.Detail = receiver.Quarantined, hook.ReasonJSON, "no JSON value (byte 0) “…”"
	res := insert(t, in, r)
	s := get(t, in, "sha256:x")
	if !slices.Equal(s.Raw, r.Raw) || s.Hash != r.Hash || !s.ReceivedAt.Equal(r.ReceivedAt) || s.Type != -7 ||
		s.Reason != r.Reason ||
		s.Detail != r.Detail || s.Status != r.Status || s.Source != r.Source || s.Verdict != r.Verdict ||
		s.Seq != res[0].Stored.Seq || s.Deliveries != 1 {
		t.Errorf("%+v", s)
	}
	for _, key := range []string{"nothing", "", "a\x00", "\xff"} {
		if _, err := in.Get(context.Background(), key); !errors.Is(err, receiver.ErrNotFound) {
			t.Error(err)
		}
	}
}

func duplicates(t *testing.T, in *inbox.Inbox) {
	r := receivertest.Record(1, "op")
	if res := insert(t, in, r); res[0].Outcome != receiver.OutcomeNew {
		t.Fatal(res[0].Outcome)
	}
	r.ReceivedAt = r.ReceivedAt.Add(time.Hour)
	for range 2 {
		if res := insert(t, in, r); res[0].Outcome != receiver.OutcomeDuplicate || res[0].Stored.Key != r.Key {
			t.Fatal(res[0])
		}
	}
	s := get(t, in, r.Key)
	if s.Deliveries != 3 || !s.LastAt.Equal(r.ReceivedAt) || s.ReceivedAt.Equal(r.ReceivedAt) {
		t.Errorf("%+v", s)
	}
	if n, err := in.LastSeq(context.Background()); err != nil || n != s.Seq {
		t.Error(n, err)
	}
}

// W14: the first is kept; the other is beside it, once.
func conflicts(t *testing.T, in *inbox.Inbox) {
	a, b := receivertest.Record(1, "op"), receivertest.Record(1, "forged")
	insert(t, in, a)
	res := insert(t, in, b)
	if res[0].Outcome != receiver.OutcomeConflict || res[0].Stored.Status != receiver.Conflict ||
		!res[0].Stored.Alarming() {
		t.Fatalf("%+v", res[0])
	}
	if res := insert(t, in, b, b); res[0].Outcome != receiver.OutcomeDuplicate ||
		res[1].Outcome != receiver.OutcomeDuplicate {
		t.Fatalf("%+v", res)
	}
	if s := get(t, in, a.Key); !slices.Equal(s.Raw, a.Raw) || s.Deliveries != 1 {
		t.Errorf("%+v", s)
	}
	both, err := in.List(context.Background(), receiver.Filter{HookID: a.HookID})
	if err != nil || len(both) != 2 || both[0].Status != receiver.Conflict || both[1].Key != a.Key {
		t.Errorf("%+v %v", both, err)
	}
	s := get(t, in, a.Key+"#"+hex.EncodeToString(b.Hash[:]))
	if !slices.Equal(s.Raw, b.Raw) || s.Deliveries != 3 || s.HookID != a.HookID {
		t.Errorf("%+v", s)
	}
}

func oneAfterAnother(t *testing.T, in *inbox.Inbox) {
	a, b := receivertest.Record(1, "op"), receivertest.Record(1, "forged")
	res := insert(t, in, a, a, b, receivertest.Record(2, "op"), b, a)
	var got []receiver.Outcome
	for _, r := range res {
		got = append(got, r.Outcome)
	}
	want := []receiver.Outcome{receiver.OutcomeNew, receiver.OutcomeDuplicate, receiver.OutcomeConflict,
		receiver.OutcomeNew, receiver.OutcomeDuplicate, receiver.OutcomeDuplicate}
	if !slices.Equal(got, want) {
		t.Fatal(got)
	}
	if s := get(t, in, a.Key); s.Deliveries != 3 {
		t.Error(s.Deliveries)
	}
	if s := get(t, in, b.ConflictKey()); s.Deliveries != 2 {
		t.Error(s.Deliveries)
	}
}

// A body that was put in by hand and then came from the service is verified.
func raised(t *testing.T, in *inbox.Inbox) {
	manual, real := receivertest.Record(1, "op"), receivertest.Record(1, "op")
	manual.Verdict, manual.Status, manual.Source = hook.Verdict{Verifier: "manual"}, receiver.Unverified, receiver.Manual
	real.Verdict.Bound = true
	insert(t, in, manual)
	insert(t, in, real)
	insert(t, in, manual)
	s := get(t, in, real.Key)
	if s.Status != receiver.Verified || s.Verdict != real.Verdict || s.Source != real.Source || s.Deliveries != 3 {
		t.Errorf("%+v", s)
	}
}

func lists(t *testing.T, in *inbox.Inbox) {
	ctx := context.Background()
	for i := range 12 {
		r := receivertest.Record(i, "op")
		r.ObjectID = "op-a"
		if i%3 == 0 {
			r.Type, r.Object, r.ObjectID = hook.TypeClient, hook.ObjectClient, "op-b"
		}
		if i == 5 {
			r.Status = receiver.Quarantined
		}
		insert(t, in, r)
	}
	for _, c := range []struct {
		f    receiver.Filter
		want []int
	}{
		{receiver.Filter{Limit: 3}, []int{11, 10, 9}},
		{receiver.Filter{Types: []hook.Type{hook.TypeClient}}, []int{9, 6, 3, 0}},
		{receiver.Filter{Types: []hook.Type{hook.TypeClient, hook.TypeOperation}, Limit: 2}, []int{11, 10}},
		{receiver.Filter{ObjectID: "op-b", Object: hook.ObjectClient, Limit: 1}, []int{9}},
		{receiver.Filter{ObjectID: "op-\x00"}, nil},
		{receiver.Filter{Statuses: []receiver.Status{receiver.Quarantined, receiver.Conflict}}, []int{5}},
		{receiver.Filter{Since: receivertest.Start.Add(3 * time.Minute), Until: receivertest.Start.Add(6 * time.Minute)},
			[]int{5, 4, 3}},
		{receiver.Filter{ObjectID: "nobody"}, nil},
	} {
		rows, err := in.List(ctx, c.f)
		var got []int
		for _, s := range rows {
			var n int
			_, _ = fmt.Sscanf(s.Key, "%08x", &n)
			got = append(got, n)
			if !c.f.Match(s) {
				t.Errorf("%+v: Match disagrees about %d", c.f, n)
			}
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v %v", c.f, got, err)
		}
	}
	first, _ := in.List(ctx, receiver.Filter{Limit: 5})
	next, err := in.List(ctx, receiver.Filter{Limit: 5, Before: first[4].Seq})
	if err != nil || len(next) != 5 || next[0].Key != receivertest.ID(6) {
		t.Error(next, err)
	}
	counts, err := in.Counts(ctx)
	want := []receiver.Count{{Type: hook.TypeOperation, Status: receiver.Quarantined, N: 1},
		{Type: hook.TypeOperation, Status: receiver.Verified, N: 7}, {Type: hook.TypeClient, Status: receiver.Verified, N: 4}}
	if err != nil || !slices.Equal(counts, want) {
		t.Error(counts, err)
	}
}

func after(t *testing.T, in *inbox.Inbox) {
	ctx := context.Background()
	var keys []string
	for i := range 7 {
		insert(t, in, receivertest.Record(i, "op"))
		keys = append(keys, receivertest.ID(i))
	}
	var got []string
	seq := int64(0)
	for {
		rows, err := in.After(ctx, seq, 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			break
		}
		for _, s := range rows {
			got = append(got, s.Key)
			if s.Seq <= seq {
				t.Fatal("out of order")
			}
			seq = s.Seq
		}
	}
	if !slices.Equal(got, keys) {
		t.Error(got)
	}
}

// parallel: W13, and no row may appear behind a number that a follower passed.
func parallel(t *testing.T, in *inbox.Inbox) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	const writers, each = 6, 30
	var followed []string
	followerDone := make(chan error, 1)
	go func() {
		f := receiver.Follow(in, 0, time.Millisecond, nil)
		for len(followed) < writers*each+1 {
			rows, err := f.Next(ctx)
			if err != nil {
				followerDone <- err
				return
			}
			for _, s := range rows {
				followed = append(followed, s.Key)
			}
		}
		followerDone <- nil
	}()
	var wg sync.WaitGroup
	var mu sync.Mutex
	news := 0
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				_, err1 := in.Insert(ctx, receivertest.Record(1+w*each+i, "op"))
				res, err2 := in.Insert(ctx, receivertest.Record(0, "op"))
				if err := errors.Join(err1, err2); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if res.Outcome == receiver.OutcomeNew {
					news++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if news != 1 {
		t.Errorf("the same delivery was new %d times", news)
	}
	if s := get(t, in, receivertest.ID(0)); s.Deliveries != writers*each {
		t.Error(s.Deliveries)
	}
	timer := time.AfterFunc(20*time.Second, stop)
	defer timer.Stop()
	if err := <-followerDone; err != nil {
		t.Fatalf("the follower saw %d of %d: %v", len(followed), writers*each+1, err)
	}
	slices.Sort(followed)
	if n := len(slices.Compact(followed)); n != writers*each+1 {
		t.Errorf("%d different rows", n)
	}
}

// words are kept once, with the first operation that showed them.
func words(t *testing.T, in *inbox.Inbox) {
	ctx := context.Background()
	first := hook.Said{Field: hook.FieldStatus, Code: 1, Word: "PENDING", OPID: "op"}
	again, other := first, first
	again.OPID, other.Word = "another", "NEW"
	for range 2 {
		if err := in.AddWords(ctx, []hook.Said{first, again, other}); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := in.Words(ctx); err != nil || !slices.Equal(all, hook.Meanings{other, first}) {
		t.Errorf("%+v %v", all, err)
	}
}

// arrivals are those from the network that can be used, and the longest pause between them.
func arrivals(t *testing.T, in *inbox.Inbox) {
	hand, bad := receivertest.Record(9, "op"), receivertest.Record(8, "op")
	hand.Source, bad.Status = receiver.Manual, receiver.Quarantined
	insert(t, in, receivertest.Record(1, "op"), receivertest.Record(5, "op"), receivertest.Record(7, "op"), hand, bad)
	for rows, want := range map[int]receiver.Arrivals{
		10: {N: 3, Last: receivertest.Start.Add(7 * time.Minute), Most: 4 * time.Minute},
		4:  {N: 2, Last: receivertest.Start.Add(7 * time.Minute), Most: 2 * time.Minute},
		2:  {},
	} {
		if got, err := in.Arrivals(context.Background(), rows); err != nil || got != want {
			t.Errorf("of %d rows: %+v %v", rows, got, err)
		}
	}
}
