package sessiontest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"opdeck/api/session"
)

func history(b *bench) {
	full := session.Event{Kind: session.EventRefresh, Outcome: session.Unknown, Reason: "due", Took: 84 * time.Millisecond,
		Fence: 7, Gen: 3, Age: 4 * time.Minute,
		Left: time.Minute, Status: 502, Served: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Detail: "not a usable answer",
		Owner: me, Session: "inc"}
	kinds := []session.Event{full, {Kind: session.EventLogin, Outcome: session.OK, Owner: me},
		{Kind: session.EventLogin, Outcome: session.Refused}, {Kind: session.EventPremature},
		{Kind: session.EventUnauthorized}, {Kind: session.EventLogin, Outcome: session.Unreadable}} // it counts
	for i, e := range kinds {
		if err := []session.Store{b.Store, b.Peer}[i%2].Log(ctx, key, e); err != nil {
			b.Fatal(err)
		}
	}
	got, err := b.Store.Events(ctx, key, 0, 10)
	if err != nil || len(got) != len(kinds) {
		b.Fatalf("%d events, %v", len(got), err)
	}
	if got[0].At.IsZero() || !got[0].Served.Equal(full.Served) {
		b.Fatalf("times: at %s, served %s", got[0].At, got[0].Served)
	}
	for i := range got[1:] {
		if got[i+1].Seq <= got[i].Seq || got[i+1].Kind != kinds[i+1].Kind {
			b.Fatalf("order: %+v", got)
		}
	}
	e := got[0]
	e.Seq, e.At, e.Served = 0, time.Time{}, full.Served
	if e != full {
		b.Fatalf("kept %+v, want %+v", e, full)
	}
	newer, err := b.Store.Events(ctx, key, got[2].Seq, 10)
	if err != nil || len(newer) != 3 || newer[0].Seq != got[3].Seq {
		b.Fatalf("after number three: %+v, %v", newer, err)
	}
	last, err := b.Store.Events(ctx, key, 0, 2)
	if err != nil || len(last) != 2 || last[1].Seq != got[5].Seq {
		b.Fatalf("the newest two: %+v, %v", last, err)
	}
	counts, err := b.Peer.Count(ctx, key)
	if err != nil || counts[session.EventLogin] != 2 || counts[session.EventRefresh] != 0 ||
		counts[session.EventPremature] != 1 || counts[session.EventUnauthorized] != 1 {
		b.Fatalf("counts %v, %v", counts, err)
	}
	for range session.MaxEvents + 10 {
		if err := b.Store.Log(ctx, key, session.Event{Kind: session.EventTakeover}); err != nil {
			b.Fatal(err)
		}
	}
	all, err := b.Store.Events(ctx, key, 0, 10*session.MaxEvents)
	if err != nil || len(all) < session.MaxEvents || len(all) > 2*session.MaxEvents {
		b.Fatalf("%d events are kept, %v", len(all), err)
	}
	if counts, err = b.Peer.Count(ctx, key); err != nil || counts[session.EventLogin] != 2 ||
		counts[session.EventTakeover] != session.MaxEvents+10 {
		b.Fatalf("counts forget dropped events: %v, %v", counts, err)
	}
}

func instances(b *bench) {
	beat := func(s session.Store, o session.Owner) {
		b.Helper()
		if err := s.Beat(ctx, key, o); err != nil {
			b.Fatal(err)
		}
	}
	list := func() []session.Instance {
		b.Helper()
		l, err := b.Peer.Instances(ctx, key)
		if err != nil {
			b.Fatal(err)
		}
		return l
	}
	beat(b.Store, me)
	b.Shift(time.Minute)
	beat(b.Peer, other)
	beat(b.Peer, other)
	got := list()
	if len(got) != 2 || got[0].Owner != other || got[1].Owner != me || got[0].SeenAt.IsZero() || got[0].Started.IsZero() {
		b.Fatalf("%+v", got)
	}
	b.near("age of the other", got[1].Ago, time.Minute)
	b.Shift(-time.Hour)
	if got = list(); len(got) != 2 || got[0].Ago < 0 || got[1].Ago < 0 {
		b.Fatalf("after the clock went back: %+v", got)
	}
	b.Shift(time.Hour)
	if err := b.Store.Leave(ctx, key, other.ID); err != nil {
		b.Fatal(err)
	}
	if got = list(); len(got) != 1 || got[0].Owner != me {
		b.Fatalf("%+v", got)
	}
	b.Shift(25 * time.Hour)
	if got = list(); len(got) != 0 {
		b.Fatalf("after a day: %+v", got)
	}
}

func apart(b *bench) {
	b.login("a1")
	if err := b.Store.Log(ctx, key, session.Event{Kind: session.EventLogin, Outcome: session.OK}); err != nil {
		b.Fatal(err)
	}
	r, err := b.Store.Load(ctx, keyTwo)
	if err != nil {
		b.Fatal(err)
	}
	b.pair(r, session.None, "", "")
	if r.Incarnation == b.load().Incarnation {
		b.Fatal("two keys share an incarnation")
	}
	ev, err := b.Store.Events(ctx, keyTwo, 0, 10)
	if err != nil || len(ev) != 0 {
		b.Fatalf("%d events of another key, %v", len(ev), err)
	}
	if _, ok, err := b.Store.Acquire(ctx, keyTwo, claim(r, other)); !ok || err != nil {
		b.Fatalf("%v, %v", ok, err)
	}
	if b.load().Phase != session.Free {
		b.Fatal("a lease of another key shows")
	}
}

// concurrent: 32 processes rotate as fast as they can; every lease is granted
// once and every install counted.
func concurrent(b *bench) {
	var mu sync.Mutex
	fences := map[int64]int{}
	installs := 0
	var wg sync.WaitGroup
	for i := range 32 {
		store := []session.Store{b.Store, b.Peer}[i%2]
		o := session.Owner{ID: fmt.Sprintf("owner-%d", i)}
		wg.Go(func() {
			for turn := range 5 {
				fence, ok, err := turnOnce(store, o, fmt.Sprintf("access-%d-%d", i, turn))
				if err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				if fence > 0 {
					fences[fence]++
				}
				if ok {
					installs++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for f, n := range fences {
		if n != 1 {
			b.Errorf("fence %d was granted %d times", f, n)
		}
	}
	got := b.load()
	if installs == 0 || got.Gen != int64(installs) || got.Fence != int64(len(fences)) || got.Phase != session.Free {
		b.Fatalf("%d installs, gen %d; %d leases, fence %d; phase %s", installs, got.Gen, len(fences), got.Fence, got.Phase)
	}
}

// turnOnce tries for the lease once and, with it, installs a pair.
func turnOnce(s session.Store, o session.Owner, access string) (fence int64, installed bool, err error) {
	r, err := s.Load(ctx, key)
	if err != nil {
		return 0, false, err
	}
	r, ok, err := s.Acquire(ctx, key, claim(r, o))
	if err != nil || !ok {
		return 0, false, err
	}
	m := markOf(r, session.ByLogin)
	m.Owner = o.ID
	if wait, err := s.Mark(ctx, key, m); err != nil || wait != 0 {
		return r.Fence, false, errors.Join(err, fmt.Errorf("the holder cannot mark: wait %s", wait))
	}
	_, err = s.Install(ctx, key, installOf(r, access))
	return r.Fence, err == nil, err
}
