package session

import (
	"context"
	"net/http"
	"testing"
	"time"

	"opdeck/api/limit"
)

// contestedStore is the way of one process to the store. Just before that process claims the lease for the first time,
// another one gets it and announces its refresh or login.
type contestedStore struct {
	Store
	t     *testing.T
	rule  limit.Rule
	lost  bool
	fence int64 // of the lease that this process has
}

func (s *contestedStore) Acquire(ctx context.Context, k Key, c Claim) (Row, bool, error) {
	if !s.lost {
		s.lost = true
		announceElsewhere(s.t, s.Store, k, s.rule)
	}
	row, won, err := s.Store.Acquire(ctx, k, c)
	if won {
		s.fence = row.Fence
	}
	return row, won, err
}

func (s *contestedStore) Mark(ctx context.Context, k Key, m Mark) (time.Duration, error) {
	s.holds("Mark", m.Fence)
	return s.Store.Mark(ctx, k, m)
}

func (s *contestedStore) Install(ctx context.Context, k Key, in Install) (Row, error) {
	s.holds("Install", in.Fence)
	return s.Store.Install(ctx, k, in)
}

func (s *contestedStore) Release(ctx context.Context, k Key, r Release) error {
	s.holds("Release", r.Fence)
	return s.Store.Release(ctx, k, r)
}

func (s *contestedStore) holds(what string, fence int64) {
	if fence != s.fence {
		s.t.Errorf("%s with fence %d by a process whose lease has %d", what, fence, s.fence)
	}
}

// announceElsewhere is another process that takes the lease, announces the rotation that the row needs, and ends.
func announceElsewhere(t *testing.T, store Store, k Key, rule limit.Rule) {
	t.Helper()
	row, err := store.Load(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	other := Owner{ID: "other"}
	got, won, err := store.Acquire(t.Context(), k, Claim{Incarnation: row.Incarnation, Gen: row.Gen, Fence: row.Fence,
		Owner: other, For: Defaults().LeaseHeld})
	if err != nil || !won {
		t.Fatalf("another process does not get the lease: %v", err)
	}
	wait, err := store.Mark(t.Context(), k, Mark{Incarnation: got.Incarnation, Fence: got.Fence, Owner: other.ID,
		Kind: row.kind(), For: Defaults().LeaseSent, Rule: rule})
	if err != nil || wait > 0 {
		t.Fatalf("another process cannot announce its request: %s, %v", wait, err)
	}
}

// TestOnlyTheHolderUsesTheLease: a process that did not get the lease neither announces a request in it, nor stores a
// pair, nor gives it back, whether a first login or a refresh was due.
func TestOnlyTheHolderUsesTheLease(t *testing.T) {
	for name, after := range map[string]time.Duration{"login": 0, "refresh": 271 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				if after > 0 {
					w.good(w.manager(nil))
					time.Sleep(after)
				}
				store := &contestedStore{Store: w.store, t: w.T}
				m := w.on(store, nil)
				store.rule = m.limits.Rule(limit.Refresh)
				w.good(m)
				if !store.lost || store.fence == 0 {
					t.Errorf("the lease was not contested: lost %v, fence %d", store.lost, store.fence)
				}
			})
		})
	}
}

// TestNoPairWhileItsRefreshIsSent: while another process may have sent the refresh of a pair, no call uses it, although
// it has not expired (rule B3).
func TestNoPairWhileItsRefreshIsSent(t *testing.T) {
	inWorld(t, func(w *world) {
		t := w.T // of the virtual time
		m := w.manager(nil)
		w.good(m)
		was, err := w.store.Load(t.Context(), m.Key())
		if err != nil || was.State != Live || was.AccessLeft < time.Minute {
			t.Fatalf("%+v, %v", was.State, err)
		}
		announceElsewhere(t, w.store, m.Key(), m.limits.Rule(limit.Refresh))
		sent := 0
		send := w.svc.send(limit.General, lockedRand(9, 1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = m.Do(ctx, Route{Class: limit.General}, func(ctx context.Context, a Access) (int, http.Header, error) {
			if sent++; a.Gen == was.Gen && a.Incarnation == was.Incarnation {
				t.Error("the pair was used while its refresh was sent")
			}
			return send(ctx, a)
		})
		if err != nil || sent != 1 {
			t.Errorf("%d sends, %v", sent, err)
		}
	})
}

// ringing is a store with a bell.
type ringing struct {
	Store
	bell chan struct{}
}

func (r *ringing) Changed(Key) (<-chan struct{}, func()) { return r.bell, func() {} }

func (r *ringing) Install(ctx context.Context, k Key, in Install) (Row, error) {
	row, err := r.Store.Install(ctx, k, in)
	r.bell <- struct{}{}
	return row, err
}

// TestBellWakesWaiters: who waits for another process continues as soon as the
// store rings, not at its next poll.
func TestBellWakesWaiters(t *testing.T) {
	inWorld(t, func(w *world) {
		w.svc.after = func(_ int, _ bool, t *trip) { t.down = 3 * time.Second }
		st := &ringing{Store: w.store, bell: make(chan struct{}, 8)}
		a, b := w.on(st, nil), w.on(st, func(c *Config) {
			c.Constants = Defaults()
			c.Constants.PollFirst, c.Constants.PollMax = 450*time.Millisecond, 450*time.Millisecond
		})
		go func() { _ = a.Refresh(context.Background()) }()
		time.Sleep(time.Second)
		start := time.Now()
		w.good(b)
		installed := w.svc.issued.Add(3 * time.Second)
		if d := time.Since(installed); d > 130*time.Millisecond { // the call itself takes up to 120 ms
			t.Errorf("the waiter's call ended %s after the pair came (it began %s before)", d, installed.Sub(start))
		}
		w.counts(1, 0)
	})
}
