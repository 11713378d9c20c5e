package sessiontest

import (
	"opdeck/api/limit"
	"opdeck/api/session"
)

// unsent: the slot of a request that did not leave the host comes back once, and only from its holder.
func unsent(b *bench) {
	give := func(r session.Row, k session.Kind) error {
		return b.Store.Release(ctx, key, session.Release{Incarnation: r.Incarnation, Fence: r.Fence, Unsent: k})
	}
	for _, kind := range []session.Kind{session.ByLogin, session.ByRefresh} {
		class, _ := kind.Marks()
		for range 20 { // more often than any budget
			r := b.acquire(nil)
			b.mark(r, kind)
			if err := give(r, kind); err != nil || b.slots(class) != 0 {
				b.Fatalf("%s: %d slots, %v", kind, b.slots(class), err)
			}
			b.fenced("a second return", give(r, kind))
		}
	}
	r := b.acquire(nil)
	b.mark(r, session.ByLogin)
	stale := r
	stale.Fence--
	b.fenced("a return by another holder", give(stale, session.ByLogin))
	if err := give(r, session.ByRefresh); err != nil || b.slots(limit.Login) != 1 {
		b.Fatalf("a return of another kind left %d slots, %v", b.slots(limit.Login), err)
	}
	r = b.acquire(nil)
	if err := give(r, session.ByLogin); err != nil || b.slots(limit.Login) != 1 {
		b.Fatalf("a return without a mark left %d slots, %v", b.slots(limit.Login), err)
	}
	r = b.acquire(nil)
	b.mark(r, session.ByLogin)
	b.Shift(leaseSent * 2)
	later := b.acquire(nil)
	b.fenced("a return after a takeover", give(r, session.ByLogin))
	if err := give(later, session.ByLogin); err != nil || b.slots(limit.Login) != 2 {
		b.Fatalf("a successor returned its predecessor's slot: %d, %v", b.slots(limit.Login), err)
	}
}
