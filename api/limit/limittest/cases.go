package limittest

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"opdeck/api/limit"
)

func twelveThenWait(b *bench) {
	b.fill(12)
	g := b.take(nil)
	if !g.Taken {
		b.Fatalf("the thirteenth is refused: %+v", g)
	}
	b.near("the thirteenth waits", g.Wait, limit.Window)
	if st := b.state(limit.Billing); len(st.Slots) != 13 || st.Slots[12].Ago >= 0 {
		b.Fatalf("%d slots are kept, the last one %s old", len(st.Slots), st.Slots[len(st.Slots)-1].Ago)
	}
}

func noSlotInTime(b *bench) {
	b.fill(12)
	g := b.take(func(r *limit.Request) { r.MaxWait = 10 * time.Second })
	if g.Taken {
		b.Fatalf("a slot that comes too late is taken: %+v", g)
	}
	b.near("the wait of a refused call", g.Wait, limit.Window)
	if st := b.state(limit.Billing); len(st.Slots) != 12 {
		b.Fatalf("%d slots are kept, want 12", len(st.Slots))
	}
}

func fifo(b *bench) {
	b.fill(12)
	last := time.Duration(0)
	for i := range 5 {
		store := []limit.Store{b.Store, b.Peer}[i%2]
		g, err := store.Take(context.Background(), key1, request(nil))
		if err != nil || !g.Taken {
			b.Fatalf("%+v, %v", g, err)
		}
		if g.Wait <= last-slack {
			b.Fatalf("number %d waits %s, the one before it %s", i, g.Wait, last)
		}
		last = g.Wait
	}
	if st := b.state(limit.Billing); waiting(st) != 5 {
		b.Fatalf("%d wait, want 5", waiting(st))
	}
}

func waiting(st limit.State) (n int) {
	for _, s := range st.Slots {
		if s.Ago < -limit.Soon {
			n++
		}
	}
	return n
}

func confirm(b *bench) {
	b.fill(12)
	g := b.take(nil)
	b.Shift(g.Wait)
	again := b.take(func(r *limit.Request) { r.Ticket = g.Ticket })
	if !again.Taken || again.Wait != 0 || again.Ticket != g.Ticket {
		b.Fatalf("the slot is not confirmed: %+v", again)
	}
	if st := b.state(limit.Billing); len(st.Slots) != 13 {
		b.Fatalf("%d slots after the confirmation, want 13", len(st.Slots))
	}
}

func late(b *bench) {
	b.fill(12)
	first := b.take(nil)
	b.Shift(first.Wait + 20*time.Second)
	g := b.take(func(r *limit.Request) { r.Ticket = first.Ticket })
	b.settle(g)
	b.fill(11)
	next := b.take(nil)
	b.near("the window counts from the late send", next.Wait, limit.Window)
}

// lateAlone: a waiting call that comes back late does not count its own slot.
func lateAlone(b *bench) {
	one := func(ticket string) func(*limit.Request) {
		return func(r *limit.Request) { r.Rule.N, r.Ticket = 1, ticket }
	}
	g := b.take(one(""))
	b.Shift(limit.Window / 2)
	again := b.take(one(g.Ticket))
	if !again.Taken || again.Wait != 0 || again.Ticket != g.Ticket {
		b.Fatalf("it waits for itself: %+v", again)
	}
	if st := b.state(limit.Billing); len(st.Slots) != 1 {
		b.Fatalf("%d slots, want the one that moved", len(st.Slots))
	}
}

func giveBack(b *bench) {
	ctx := context.Background()
	used := b.take(nil)
	b.fill(11)
	g := b.take(nil)
	for _, ticket := range []string{g.Ticket, g.Ticket, used.Ticket, "no such ticket", ""} {
		if err := b.Peer.GiveBack(ctx, key1, limit.Billing, ticket); err != nil {
			b.Fatal(err)
		}
	}
	if st := b.state(limit.Billing); len(st.Slots) != 12 {
		b.Fatalf("%d slots, want the 12 used ones", len(st.Slots))
	}
	again := b.take(nil)
	b.near("the slot is free again", again.Wait, g.Wait)
}

func background(b *bench) {
	bg := func(r *limit.Request) { r.Background = true }
	for range 8 {
		b.settle(b.take(bg))
	}
	g := b.take(bg)
	if g.Taken || g.Wait <= 0 {
		b.Fatalf("background work takes the reserve: %+v", g)
	}
	b.near("background comes back", g.Wait, limit.Window)
	b.fill(4)
	if st := b.state(limit.Billing); !st.Slots[0].Background || st.Slots[11].Background {
		b.Fatal("the state does not tell background from people")
	}
}

func backgroundWaits(b *bench) {
	b.fill(12)
	person := b.take(nil)
	b.Shift(person.Wait - 10*time.Second)
	g := b.take(func(r *limit.Request) { r.Background = true; r.Rule.N = 1000 })
	if g.Taken || g.Wait <= 0 {
		b.Fatalf("background work passes a waiting person: %+v", g)
	}
}

func warn(b *bench) {
	b.fill(12)
	g := b.take(func(r *limit.Request) { r.Warn = true; r.MaxWait = 0 })
	if !g.Taken || g.Wait != 0 || !g.Over {
		b.Fatalf("policy warn: %+v", g)
	}
	marked := func(s limit.Slot) bool { return s.Over }
	if st := b.state(limit.Billing); len(st.Slots) != 13 || !slices.ContainsFunc(st.Slots, marked) {
		b.Fatal("the slot is not marked")
	}
}

func throttle(b *bench) {
	ctx := context.Background()
	for _, d := range []time.Duration{40 * time.Second, 10 * time.Second} {
		if err := b.Peer.Throttle(ctx, key1, limit.Billing, d); err != nil {
			b.Fatal(err)
		}
	}
	g := b.take(nil)
	b.near("everybody waits for the longer 429", g.Wait, 40*time.Second)
	if w := b.take(func(r *limit.Request) { r.Warn = true }); w.Wait == 0 {
		b.Fatal("policy warn ignores a 429")
	}
	st := b.state(limit.Billing)
	b.near("not_before", st.NotBefore, 40*time.Second)
	if len(st.Throttled) != 2 {
		b.Fatalf("%d 429 answers are known, want 2", len(st.Throttled))
	}
	if err := b.Store.Throttle(ctx, key1, limit.Account, 3*time.Hour); err != nil {
		b.Fatal(err)
	}
	b.near("a mad Retry-After is cut", b.state(limit.Account).NotBefore, limit.MaxNotBefore)
	b.Shift(limit.ThrottleRetention + time.Second)
	if st := b.state(limit.Billing); len(st.Throttled) != 0 || st.NotBefore != 0 {
		b.Fatalf("after an hour: %+v", st)
	}
}

// throttleMeanwhile: a reader of State reads the clock first; a 429 that another process stores after that is there.
func throttleMeanwhile(b *bench) {
	if err := b.Peer.Throttle(context.Background(), key1, limit.Billing, time.Minute); err != nil {
		b.Fatal(err)
	}
	for _, d := range []time.Duration{-time.Second, 2 * time.Second} {
		b.Shift(d)
		if st := b.state(limit.Billing); len(st.Throttled) != 1 || st.Throttled[0] < 0 {
			b.Fatalf("the 429s are %v after a shift of %s", st.Throttled, d)
		}
	}
	b.Shift(-time.Hour)
	if st := b.state(limit.Billing); len(st.Throttled) != 0 {
		b.Fatalf("a 429 of a clock that was set back: %v", st.Throttled)
	}
}

func throttleMoves(b *bench) {
	b.fill(12)
	g := b.take(nil)
	b.Shift(g.Wait - time.Second)
	if err := b.Store.Throttle(context.Background(), key1, limit.Billing, 30*time.Second); err != nil {
		b.Fatal(err)
	}
	b.Shift(time.Second)
	moved := b.take(func(r *limit.Request) { r.Ticket = g.Ticket })
	if !moved.Taken || moved.Ticket != g.Ticket {
		b.Fatalf("the waiter loses its place: %+v", moved)
	}
	b.near("a waiter obeys a 429 that came meanwhile", moved.Wait, 29*time.Second)
	short := b.take(func(r *limit.Request) { r.Ticket = g.Ticket; r.MaxWait = time.Second })
	if !short.Taken { // its slot stays; how long it waits was agreed before
		b.Fatalf("a confirmed slot is taken away: %+v", short)
	}
}

func clockSetBack(b *bench) {
	b.fill(12)
	if err := b.Store.Throttle(context.Background(), key1, limit.Account, time.Minute); err != nil {
		b.Fatal(err)
	}
	b.Shift(-time.Hour)
	b.settle(b.take(nil))
	if nb := b.state(limit.Account).NotBefore; nb > limit.MaxNotBefore {
		b.Fatalf("not_before is %s away", nb)
	}
	b.Shift(limit.MaxNotBefore + time.Second)
	if nb := b.state(limit.Account).NotBefore; nb != 0 {
		b.Fatalf("the cut not_before was not written back: %s left", nb)
	}
}

func apart(b *bench) {
	b.fill(12)
	b.settle(b.take(func(r *limit.Request) { r.Class = limit.Account }))
	g, err := b.Store.Take(context.Background(), key2, request(nil))
	if err != nil {
		b.Fatal(err)
	}
	b.settle(g)
	st, err := b.Store.State(context.Background(), key2)
	if err != nil || len(st[limit.Billing].Slots) != 1 || len(st[limit.Account].Slots) != 0 {
		b.Fatalf("the second key shows %+v, %v", st, err)
	}
}

func ages(b *bench) {
	b.fill(1)
	b.Shift(5 * time.Minute)
	b.fill(1)
	st := b.state(limit.Billing)
	if len(st.Slots) != 2 {
		b.Fatalf("%d slots, want 2", len(st.Slots))
	}
	b.near("the older slot's age", st.Slots[0].Ago, 5*time.Minute)
	b.near("the newer slot's age", st.Slots[1].Ago, 0)
	b.Shift(limit.Retention - 4*time.Minute)
	if st = b.state(limit.Billing); len(st.Slots) != 1 {
		b.Fatalf("%d slots after the retention, want 1", len(st.Slots))
	}
}

// concurrent: 32 callers at once get twelve slots now and twenty later, all
// apart.
func concurrent(b *bench) {
	var mu sync.Mutex
	var waits []time.Duration
	var wg sync.WaitGroup
	for i := range 32 {
		store := []limit.Store{b.Store, b.Peer}[i%2]
		wg.Go(func() {
			g, err := store.Take(context.Background(), key1, request(nil))
			if err != nil || !g.Taken {
				b.Errorf("%+v, %v", g, err)
			}
			mu.Lock()
			defer mu.Unlock()
			waits = append(waits, g.Wait)
		})
	}
	wg.Wait()
	slices.Sort(waits)
	if waits[11] > slack || waits[12] < limit.Window-slack || waits[23] > limit.Window+slack ||
		waits[24] < 2*limit.Window-slack {
		b.Fatalf("waits: %v", waits)
	}
	if st := b.state(limit.Billing); len(st.Slots) != 32 {
		b.Fatalf("%d slots, want 32", len(st.Slots))
	}
}

// exact plays a random hour and holds every window of the sends that happened
// against the rule.
func exact(b *bench) {
	rnd := rand.New(rand.NewPCG(4711, 1))
	began := time.Now()
	var shifted time.Duration
	var sent []time.Duration
	type waiter struct {
		ticket string
		due    time.Duration
	}
	var queue []waiter
	now := func() time.Duration { return shifted + time.Since(began) }
	use := func(g limit.Grant) {
		if g.Taken && g.Wait == 0 {
			sent = append(sent, now())
		} else if g.Taken {
			queue = append(queue, waiter{g.Ticket, now() + g.Wait})
		}
	}
	// on a busy machine real time goes by as well, and slots lapse because their waiters come late
	for n := 0; n < 300 || len(sent) < 100; n++ {
		if n == 3000 {
			b.Fatalf("only %d sends in %s", len(sent), shifted)
		}
		step := time.Duration(rnd.ExpFloat64() * float64(4*time.Second))
		b.Shift(step)
		shifted += step
		switch p := rnd.IntN(20); {
		case p == 0 && len(queue) > 0: // someone gives up
			i := rnd.IntN(len(queue))
			if err := b.Store.GiveBack(context.Background(), key1, limit.Billing, queue[i].ticket); err != nil {
				b.Fatal(err)
			}
			queue = slices.Delete(queue, i, i+1)
		case p == 1:
			if err := b.Store.Throttle(context.Background(), key1, limit.Billing, 15*time.Second); err != nil {
				b.Fatal(err)
			}
		default:
			use(b.take(func(r *limit.Request) { r.Background = p > 16; r.MaxWait = 70 * time.Second }))
		}
		due := queue
		queue = nil
		for _, w := range due {
			if w.due > now() || rnd.IntN(8) == 0 { // some come late
				queue = append(queue, w)
				continue
			}
			use(b.take(func(r *limit.Request) { r.Ticket = w.ticket }))
		}
	}
	for i := 0; i+rule.N < len(sent); i++ {
		if d := sent[i+rule.N] - sent[i]; d < time.Minute {
			b.Fatalf("%d sends within %s", rule.N+1, d)
		}
	}
}
