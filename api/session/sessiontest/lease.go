package sessiontest

import (
	"sync"
	"time"

	"opdeck/api/limit"
	"opdeck/api/session"
)

func loadCreates(b *bench) {
	var wg sync.WaitGroup
	rows := make([]session.Row, 8)
	for i := range rows {
		store := []session.Store{b.Store, b.Peer}[i%2]
		wg.Go(func() {
			var err error
			if rows[i], err = store.Load(ctx, key); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	for _, r := range rows {
		if r.Incarnation == "" || r.Incarnation != rows[0].Incarnation {
			b.Fatalf("incarnations %q and %q", rows[0].Incarnation, r.Incarnation)
		}
	}
	r := rows[0]
	b.pair(r, session.None, "", "")
	if r.Phase != session.Free || r.Gen != 0 || r.Fence != 0 || r.LeaseLeft != 0 || r.AccessLeft != 0 ||
		r.LoginWait != 0 || r.RefreshWait != 0 {
		b.Fatalf("a new row: %+v", r)
	}
	if r.Pepper.Empty() || !r.Pepper.Equal(rows[1].Pepper) || r.At.IsZero() {
		b.Fatal("pepper or clock is missing, or the pepper differs between handles")
	}
}

func acquireCompares(b *bench) {
	r := b.load()
	for name, spoil := range map[string]func(*session.Claim){
		"incarnation": func(c *session.Claim) { c.Incarnation = "another" },
		"generation":  func(c *session.Claim) { c.Gen++ },
		"lower fence": func(c *session.Claim) { c.Fence-- },
		"fence":       func(c *session.Claim) { c.Fence++ },
	} {
		c := claim(r, me)
		c.Over, c.Doubt, c.Premature, c.Renew = true, true, &session.Premature{}, true
		spoil(&c)
		got, ok, err := b.Store.Acquire(ctx, key, c)
		if err != nil || ok {
			b.Fatalf("another %s: %v, %v", name, ok, err)
		}
		if got.Fence != r.Fence || got.Phase != session.Free || len(got.Premature) != 0 || got.Incarnation != r.Incarnation {
			b.Fatalf("a lost claim changed the row: %+v", got)
		}
	}
	got := b.acquire(func(c *session.Claim) { c.HasLock = true })
	if got.Owner != me || !got.HasLock || got.LeaseFor != leaseHeld || b.load().Owner != me {
		b.Fatalf("the holder is not kept: %+v", got)
	}
	b.near("lease", b.load().LeaseLeft, leaseHeld)
}

func acquireWhileHeld(b *bench) {
	r := b.acquire(nil)
	if _, ok, err := b.Peer.Acquire(ctx, key, claim(r, other)); ok || err != nil {
		b.Fatalf("a held lease is had: %v, %v", ok, err)
	}
	b.Shift(leaseHeld + time.Second)
	if left := b.load().LeaseLeft; left != 0 {
		b.Fatalf("%s left of a lease that is over", left)
	}
	got, ok, err := b.Peer.Acquire(ctx, key, claim(r, other))
	if !ok || err != nil || got.Owner.ID != other.ID || got.Fence != r.Fence+1 {
		b.Fatalf("a lease that is over is not had: %v, %v, %+v", ok, err, got)
	}
	_, err = b.Store.Mark(ctx, key, markOf(r, session.ByLogin))
	b.fenced("mark after the takeover", err)
}

func takeoverHeld(b *bench) {
	b.login("a1")
	b.acquire(nil)
	b.Shift(leaseHeld + time.Second)
	got := b.acquire(func(c *session.Claim) { c.Owner = other })
	b.pair(got, session.Live, "a1", "refresh of a1")
}

func takeoverSent(b *bench) {
	for _, kind := range []session.Kind{session.ByRefresh, session.ByLogin} {
		b.login("a-" + string(kind))
		r := b.acquire(nil)
		b.mark(r, kind)
		if got := b.load(); !got.Phase.Sent() {
			b.Fatalf("phase %s after the mark", got.Phase)
		}
		b.Shift(leaseSent + time.Second)
		got := b.acquire(func(c *session.Claim) { c.Owner = other })
		b.pair(got, session.Doubtful, "a-"+string(kind), "")
		b.pair(b.load(), session.Doubtful, "a-"+string(kind), "")
		if err := b.Store.Release(ctx, key, session.Release{Incarnation: got.Incarnation, Fence: got.Fence,
			State: session.None}); err != nil {
			b.Fatal(err)
		}
	}
	r := b.acquire(nil)
	b.mark(r, session.ByLogin)
	b.Shift(leaseSent + time.Second)
	b.pair(b.acquire(nil), session.None, "", "")
}

func acquireOver(b *bench) {
	b.login("a1")
	r := b.acquire(nil)
	b.mark(r, session.ByRefresh)
	got, ok, err := b.Peer.Acquire(ctx, key, func() session.Claim {
		c := claim(b.load(), other)
		c.Over = true
		return c
	}())
	if err != nil || !ok {
		b.Fatalf("a dead holder's lease is not had: %v, %v", ok, err)
	}
	b.pair(got, session.Doubtful, "a1", "")
	_, err = b.Store.Install(ctx, key, installOf(r, "late"))
	b.fenced("the dead holder's install", err)
	b.fenced("the dead holder's release", b.Store.Release(ctx, key,
		session.Release{Incarnation: r.Incarnation, Fence: r.Fence}))
}

func doubt(b *bench) {
	for i := range session.MaxPremature + 2 {
		b.login("a1")
		b.Shift(20 * time.Second)
		got := b.acquire(func(c *session.Claim) {
			c.Doubt, c.Premature = true, &session.Premature{Gen: c.Gen, Lived: time.Duration(i) * time.Second}
		})
		b.pair(got, session.Doubtful, "a1", "")
		if err := b.Store.Release(ctx, key, session.Release{Incarnation: got.Incarnation, Fence: got.Fence}); err != nil {
			b.Fatal(err)
		}
	}
	got := b.load()
	b.pair(got, session.Doubtful, "a1", "")
	if n := len(got.Premature); n != session.MaxPremature {
		b.Fatalf("%d premature deaths are kept, want %d", n, session.MaxPremature)
	}
	first, last := got.Premature[0], got.Premature[len(got.Premature)-1]
	if first.Lived != 2*time.Second || last.Lived != 9*time.Second || last.Gen != got.Gen {
		b.Fatalf("kept: %+v … %+v", first, last)
	}
	b.near("age of the last", last.Ago, 0)
	b.near("age of the one before", got.Premature[len(got.Premature)-2].Ago, 20*time.Second)
}

func renew(b *bench) {
	was := b.login("a1")
	got := b.acquire(func(c *session.Claim) { c.Renew, c.Doubt = true, true })
	if got.Incarnation == was.Incarnation || got.Incarnation == "" || b.load().Incarnation != got.Incarnation {
		b.Fatalf("the incarnation stays %q", got.Incarnation)
	}
	b.pair(got, session.Doubtful, "a1", "")
	b.mark(got, session.ByLogin)
	if _, err := b.Store.Install(ctx, key, installOf(got, "a2")); err != nil {
		b.Fatal(err)
	}
	b.pair(b.load(), session.Live, "a2", "refresh of a2")
}

func markCompares(b *bench) {
	free := b.load()
	_, err := b.Store.Mark(ctx, key, markOf(free, session.ByLogin))
	b.fenced("mark without a lease", err)
	r := b.acquire(nil)
	for name, spoil := range map[string]func(*session.Mark){
		"incarnation": func(m *session.Mark) { m.Incarnation = "another" },
		"fence":       func(m *session.Mark) { m.Fence-- },
		"owner":       func(m *session.Mark) { m.Owner = other.ID },
	} {
		m := markOf(r, session.ByLogin)
		spoil(&m)
		_, err := b.Store.Mark(ctx, key, m)
		b.fenced("mark with another "+name, err)
	}
	b.Shift(leaseHeld + time.Second)
	_, err = b.Store.Mark(ctx, key, markOf(r, session.ByLogin))
	b.fenced("mark after the lease", err)
	if got := b.load(); got.Phase != session.Held || b.slots(limit.Login) != 0 {
		b.Fatalf("a refused mark changed phase (%s) or budget (%d)", got.Phase, b.slots(limit.Login))
	}
}

func (b *bench) slots(c limit.Class) int {
	b.Helper()
	st, err := b.Store.State(ctx, key)
	if err != nil {
		b.Fatal(err)
	}
	return len(st[c].Slots)
}

func markTakesSlot(b *bench) {
	r := b.acquire(nil)
	m := markOf(r, session.ByRefresh)
	m.Rule = oneOnly
	if wait, err := b.Store.Mark(ctx, key, m); err != nil || wait != 0 {
		b.Fatalf("wait %s, %v", wait, err)
	}
	got := b.load()
	if got.Phase != session.SentRefresh || got.LeaseFor != leaseSent || b.slots(limit.Refresh) != 1 {
		b.Fatalf("phase %s, lease %s, %d slots", got.Phase, got.LeaseFor, b.slots(limit.Refresh))
	}
	b.near("lease", got.LeaseLeft, leaseSent)
	if err := b.Store.Release(ctx, key, session.Release{Incarnation: r.Incarnation, Fence: r.Fence}); err != nil {
		b.Fatal(err)
	}
	r = b.acquire(nil)
	m.Fence = r.Fence
	wait, err := b.Store.Mark(ctx, key, m)
	if err != nil {
		b.Fatal(err)
	}
	b.near("the second refresh waits", wait, limit.AuthWindow)
	if got := b.load(); got.Phase != session.Held || b.slots(limit.Refresh) != 1 {
		b.Fatalf("a mark without a slot set phase %s and left %d slots", got.Phase, b.slots(limit.Refresh))
	}
	b.Shift(limit.AuthWindow - leaseHeld/2)
	b.Shift(-time.Second)
	r = b.acquireOverdue(r)
	b.Shift(leaseHeld/2 + 2*time.Second)
	m.Fence = r.Fence
	if wait, err := b.Store.Mark(ctx, key, m); err != nil || wait != 0 {
		b.Fatalf("after the window: wait %s, %v", wait, err)
	}
}

// acquireOverdue takes the lease from r's holder.
func (b *bench) acquireOverdue(r session.Row) session.Row {
	b.Helper()
	if err := b.Store.Release(ctx, key, session.Release{Incarnation: r.Incarnation, Fence: r.Fence}); err != nil {
		b.Fatal(err)
	}
	return b.acquire(nil)
}

func markAgain(b *bench) {
	b.login("a1")
	r := b.acquire(nil)
	b.mark(r, session.ByRefresh)
	b.Shift(leaseSent / 2)
	b.mark(r, session.ByLogin)
	got := b.load()
	if got.Phase != session.SentLogin || got.Fence != r.Fence {
		b.Fatalf("phase %s, fence %d", got.Phase, got.Fence)
	}
	b.near("the lease starts again", got.LeaseLeft, leaseSent)
	if _, err := b.Store.Install(ctx, key, installOf(r, "a2")); err != nil {
		b.Fatal(err)
	}
}
