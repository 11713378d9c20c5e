package sessiontest

import (
	"fmt"
	"strings"
	"time"

	"opdeck/api/limit"
	"opdeck/api/reach"
	"opdeck/api/secret"
	"opdeck/api/session"
)

func installLifetimes(b *bench) {
	r := b.acquire(nil)
	b.mark(r, session.ByLogin)
	in := installOf(r, "a1")
	in.Elapsed = 8 * time.Second
	got, err := b.Store.Install(ctx, key, in)
	if err != nil {
		b.Fatal(err)
	}
	for _, row := range []session.Row{got, b.load()} {
		b.pair(row, session.Live, "a1", "refresh of a1")
		if row.Gen != 1 || row.Phase != session.Free || row.AccessTTL != in.AccessTTL || row.RefreshTTL != in.RefreshTTL ||
			row.From != session.ByLogin || row.By != me || row.HasLock {
			b.Fatalf("installed: %+v", row)
		}
		b.near("access", row.AccessLeft, 5*time.Minute-8*time.Second)
		b.near("refresh", row.RefreshLeft, 15*time.Minute-8*time.Second)
		b.near("age", row.Age, 0)
	}
	b.Shift(6 * time.Minute)
	row := b.load()
	if row.AccessLeft != 0 || row.State != session.Live {
		b.Fatalf("after six minutes: %s left, state %s", row.AccessLeft, row.State)
	}
	b.near("age", row.Age, 6*time.Minute)
	b.near("refresh", row.RefreshLeft, 9*time.Minute-8*time.Second)
}

func installFenced(b *bench) {
	b.login("a1")
	r := b.acquire(nil)
	_, err := b.Store.Install(ctx, key, installOf(r, "unannounced"))
	b.fenced("install without a mark", err)
	b.mark(r, session.ByRefresh)
	for name, spoil := range map[string]func(*session.Install){
		"incarnation": func(in *session.Install) { in.Incarnation = "another" },
		"fence":       func(in *session.Install) { in.Fence-- },
		"next fence":  func(in *session.Install) { in.Fence++ },
	} {
		in := installOf(r, "wrong")
		spoil(&in)
		_, err := b.Store.Install(ctx, key, in)
		b.fenced("install with another "+name, err)
	}
	if got := b.load(); got.Gen != 1 || got.Access.Reveal() != "a1" {
		b.Fatalf("a fenced install changed the pair: gen %d", got.Gen)
	}
}

func installAgain(b *bench) {
	r := b.acquire(nil)
	b.mark(r, session.ByLogin)
	in := installOf(r, "a1")
	for range 2 {
		got, err := b.Store.Install(ctx, key, in)
		if err != nil || got.Gen != 1 || !got.Access.Equal(in.Access) {
			b.Fatalf("gen %d, %v", got.Gen, err)
		}
	}
	in.Access = secret.New("something else")
	_, err := b.Store.Install(ctx, key, in)
	b.fenced("a second, other pair under one fence", err)
	next := b.acquire(nil)
	in.Access = secret.New("a1")
	_, err = b.Store.Install(ctx, key, in)
	b.fenced("install after the next claim", err)
	b.pair(b.load(), session.Live, "a1", "refresh of a1")
	if next.Gen != 1 {
		b.Fatalf("gen %d", next.Gen)
	}
}

func installLate(b *bench) {
	r := b.acquire(nil)
	b.mark(r, session.ByLogin)
	b.Shift(leaseSent + time.Minute)
	if _, err := b.Store.Install(ctx, key, installOf(r, "a1")); err != nil {
		b.Fatalf("late, but nobody took over: %v", err)
	}
	b.pair(b.load(), session.Live, "a1", "refresh of a1")
}

func installNoRefresh(b *bench) {
	r := b.acquire(nil)
	b.mark(r, session.ByLogin)
	in := installOf(r, "a1")
	in.Refresh = secret.Value{}
	in.RefreshWait = time.Minute
	if _, err := b.Store.Install(ctx, key, in); err != nil {
		b.Fatal(err)
	}
	got := b.load()
	b.pair(got, session.Live, "a1", "")
	b.near("refresh wait", got.RefreshWait, time.Minute)
	b.login("a2")
	if got := b.load(); got.RefreshWait != 0 || got.Gen != 2 {
		b.Fatalf("the next install keeps the wait: %s", got.RefreshWait)
	}
}

func tokens(b *bench) {
	for _, token := range []string{"a/b%2F+..", "../..", strings.Repeat("x", 8<<10), `"quoted" \ and 'single'`,
		"ünïcode\x00\xff"} {
		b.login(token)
		b.pair(b.load(), session.Live, token, "refresh of "+token)
	}
}

func release(b *bench) {
	b.login("a1")
	r := b.acquire(func(c *session.Claim) { c.HasLock = true })
	if err := b.Store.Release(ctx, key, session.Release{Incarnation: r.Incarnation, Fence: r.Fence}); err != nil {
		b.Fatal(err)
	}
	got := b.load()
	b.pair(got, session.Live, "a1", "refresh of a1")
	again := b.acquire(nil)
	if err := b.Store.Release(ctx, key, session.Release{Incarnation: again.Incarnation, Fence: again.Fence,
		Spent: true}); err != nil {
		b.Fatal(err)
	}
	b.pair(b.load(), session.Live, "a1", "")
	if got.Phase != session.Free || got.HasLock || got.LeaseLeft != 0 || got.Fence != r.Fence || got.Gen != 1 {
		b.Fatalf("after the release: %+v", got)
	}
	r = b.acquire(nil)
	b.mark(r, session.ByRefresh)
	if err := b.Store.Release(ctx, key, session.Release{Incarnation: r.Incarnation, Fence: r.Fence,
		State: session.Doubtful}); err != nil {
		b.Fatal(err)
	}
	b.pair(b.load(), session.Doubtful, "a1", "")
	r = b.acquire(nil)
	if err := b.Store.Release(ctx, key, session.Release{Incarnation: r.Incarnation, Fence: r.Fence,
		State: session.None}); err != nil {
		b.Fatal(err)
	}
	b.pair(b.load(), session.None, "", "")
	if got := b.load(); got.Gen != 1 || got.Fence != r.Fence {
		b.Fatalf("counters after dropping the pair: gen %d, fence %d", got.Gen, got.Fence)
	}
	r = b.acquire(nil)
	b.mark(r, session.ByLogin)
	if err := b.Store.Release(ctx, key, session.Release{Incarnation: r.Incarnation, Fence: r.Fence,
		State: session.Doubtful}); err != nil {
		b.Fatal(err)
	}
	b.pair(b.load(), session.None, "", "")
}

func releaseFenced(b *bench) {
	r := b.load()
	b.fenced("release without a lease", b.Store.Release(ctx, key,
		session.Release{Incarnation: r.Incarnation, Fence: r.Fence}))
	r = b.acquire(nil)
	for name, rel := range map[string]session.Release{
		"incarnation": {Incarnation: "another", Fence: r.Fence, State: session.None},
		"fence":       {Incarnation: r.Incarnation, Fence: r.Fence - 1, State: session.None},
	} {
		b.fenced("release with another "+name, b.Store.Release(ctx, key, rel))
	}
	if got := b.load(); got.Phase != session.Held {
		b.Fatalf("a fenced release set phase %s", got.Phase)
	}
}

func releaseWaits(b *bench) {
	rel := func(change func(*session.Release)) session.Row {
		b.Helper()
		r := b.acquire(nil)
		x := session.Release{Incarnation: r.Incarnation, Fence: r.Fence}
		change(&x)
		if err := b.Store.Release(ctx, key, x); err != nil {
			b.Fatal(err)
		}
		return b.load()
	}
	got := rel(func(x *session.Release) { x.LoginWait, x.RefreshWait, x.Fail = 20*time.Second, time.Hour, true })
	b.near("login wait", got.LoginWait, 20*time.Second)
	b.near("refresh wait is cut", got.RefreshWait, session.MaxBackoff)
	if got.Fails != 1 {
		b.Fatalf("%d fails", got.Fails)
	}
	got = rel(func(x *session.Release) {
		x.Fail, x.Block = true, &session.Block{Fingerprint: "f0", Reason: session.BlockRefused, Tries: 1}
	})
	b.near("a release without waits changes none", got.LoginWait, 20*time.Second)
	b.Shift(time.Minute)
	got = rel(func(x *session.Release) {
		x.Block = &session.Block{Fingerprint: "f1", Reason: session.BlockTwoFactor, Tries: 1}
	})
	if len(got.Blocks) != 2 || got.Blocks[0].Fingerprint != "f0" || got.Fails != 2 || got.LoginWait != 0 {
		b.Fatalf("%+v", got)
	}
	b.near("age of the first block", got.Blocks[0].Ago, time.Minute)
	got = rel(func(x *session.Release) {
		x.Block = &session.Block{Fingerprint: "f0", Reason: session.BlockRefused, Tries: 2}
	})
	if len(got.Blocks) != 2 || got.Blocks[1].Fingerprint != "f0" || got.Blocks[1].Tries != 2 {
		b.Fatalf("a known credential is not replaced: %+v", got.Blocks)
	}
	b.near("age of a repeated block", got.Blocks[1].Ago, 0)
	unread := session.Block{Fingerprint: "f2", Reason: session.BlockUnreadable, Said: "it is empty",
		Class: reach.Unreadable, Tries: 1, Status: 200, Key: "access_token_field"}
	rel(func(x *session.Release) { x.Block = &unread })
	b.Shift(time.Minute)
	seen, err := b.Peer.Load(ctx, key)
	if err != nil || len(seen.Blocks) != 3 {
		b.Fatalf("another process sees %+v, %v", seen.Blocks, err)
	}
	b.near("age of a mark", seen.Blocks[2].Ago, time.Minute)
	if seen.Blocks[2].Ago = 0; seen.Blocks[2] != unread {
		b.Fatalf("another process sees %+v", seen.Blocks[2])
	}
	for i := range session.MaxBlocks + 1 {
		got = rel(func(x *session.Release) { x.Block = &session.Block{Fingerprint: string(rune('a' + i)), Tries: 1} })
	}
	if len(got.Blocks) != session.MaxBlocks || got.Blocks[0].Fingerprint != "b" {
		b.Fatalf("%d blocks, the oldest %q", len(got.Blocks), got.Blocks[0].Fingerprint)
	}
	got = rel(func(x *session.Release) { x.Clear = true })
	if got.Fails != 0 || got.LoginWait != 0 || got.RefreshWait != 0 || len(got.Blocks) != 0 || len(got.Premature) != 0 {
		b.Fatalf("after clearing: %+v", got)
	}
	rel(func(x *session.Release) { x.Fail, x.LoginWait, x.RefreshWait = true, time.Minute, time.Minute })
	if got = b.login("a1"); got.Fails != 0 || got.LoginWait != 0 || got.RefreshWait != 0 {
		b.Fatalf("a new pair keeps the back-off: %+v", got)
	}
}

// clockSetBack: stored times are cut to their maxima, and stay cut.
func clockSetBack(b *bench) {
	b.login("a1")
	r := b.acquire(func(c *session.Claim) { c.Doubt, c.Premature = true, &session.Premature{} })
	if err := b.Store.Release(ctx, key, session.Release{Incarnation: r.Incarnation, Fence: r.Fence, LoginWait: time.Minute,
		RefreshWait: time.Minute,
		Block:       &session.Block{Fingerprint: "f", Tries: 1}}); err != nil {
		b.Fatal(err)
	}
	b.login("a2")
	b.acquire(nil)
	b.Shift(-2 * time.Hour)
	got := b.load()
	if got.AccessLeft > got.AccessTTL || got.RefreshLeft > got.RefreshTTL || got.LeaseLeft > got.LeaseFor || got.Age < 0 ||
		got.LoginWait > session.MaxBackoff || got.Premature[0].Ago < 0 || got.Blocks[0].Ago < 0 {
		b.Fatalf("impossible times: %+v", got)
	}
	b.Shift(leaseHeld + time.Second)
	if got = b.load(); got.LeaseLeft != 0 {
		b.Fatalf("the cut lease was not written back: %s left", got.LeaseLeft)
	}
	b.near("age counts on", got.Age, leaseHeld)
	b.Shift(5 * time.Minute)
	if got = b.load(); got.AccessLeft != 0 || got.LoginWait != 0 {
		b.Fatalf("cut times were not written back: access %s, wait %s", got.AccessLeft, got.LoginWait)
	}
	if _, ok, err := b.Peer.Acquire(ctx, key, claim(got, other)); !ok || err != nil {
		b.Fatalf("the dead holder's lease is not had: %v, %v", ok, err)
	}
}

func enter(b *bench) {
	want := b.login("a1")
	req := limit.Request{Class: limit.Billing, Rule: limit.Rule{N: 1, Window: limit.Window}, MaxWait: 2 * time.Minute}
	soon := req
	soon.MaxWait = time.Second
	var asked session.Row
	row, g, err := b.Store.Enter(ctx, key, req, func(r session.Row) bool { asked = r; return false })
	if err != nil || g != (limit.Grant{}) || b.slots(limit.Billing) != 0 {
		b.Fatalf("refused, yet %+v, %v, %d slots", g, err, b.slots(limit.Billing))
	}
	b.pair(asked, session.Live, "a1", "refresh of a1")
	b.pair(row, session.Live, "a1", "refresh of a1")
	if row.Gen != want.Gen || row.Incarnation != want.Incarnation || row.Fence != want.Fence {
		b.Fatalf("another row: %+v", row)
	}
	yes := func(session.Row) bool { return true }
	if _, g, err = b.Store.Enter(ctx, key, req, yes); err != nil || !g.Taken || g.Wait != 0 {
		b.Fatalf("%+v, %v", g, err)
	}
	if _, g, err = b.Peer.Enter(ctx, key, soon, yes); err != nil || g.Taken || b.slots(limit.Billing) != 1 {
		b.Fatalf("without time: %+v, %v, %d slots", g, err, b.slots(limit.Billing))
	}
	_, g, err = b.Peer.Enter(ctx, key, req, yes)
	if err != nil || !g.Taken {
		b.Fatalf("%+v, %v", g, err)
	}
	b.near("the second waits", g.Wait, limit.Window)
	req.Ticket = g.Ticket
	if _, g, err = b.Peer.Enter(ctx, key, req, yes); err != nil || !g.Taken || g.Ticket != req.Ticket {
		b.Fatalf("before its time: %+v, %v", g, err)
	}
	b.near("it waits on", g.Wait, limit.Window)
	b.Shift(g.Wait)
	if _, _, err = b.Peer.Enter(ctx, key, req, func(session.Row) bool { return false }); err != nil ||
		b.slots(limit.Billing) != 2 {
		b.Fatalf("a refused entry lost its slot: %v, %d slots", err, b.slots(limit.Billing))
	}
	if _, g, err = b.Peer.Enter(ctx, key, req, yes); err != nil || !g.Taken || g.Wait != 0 || g.Ticket != req.Ticket {
		b.Fatalf("the slot is not confirmed: %+v, %v", g, err)
	}
}

func routeMarks(b *bench) {
	r := b.login("a1")
	mark := func(incarnation string, m session.RouteMark) {
		if err := b.Store.MarkRoute(ctx, key, incarnation, m); err != nil {
			b.Fatal(err)
		}
	}
	accepts := func(route string) session.RouteMark { return session.RouteMark{Route: route, Gen: r.Gen} }
	refuses := func(route string) session.RouteMark {
		return session.RouteMark{Route: route, Gen: r.Gen, Refused: true, By: "GET /a"}
	}
	mark("another", refuses("GET /other"))
	mark(r.Incarnation, session.RouteMark{Route: "GET /other", Gen: r.Gen + 1})
	mark(r.Incarnation, accepts("GET /a"))
	for i := range session.MaxRoutes + 2 {
		mark(r.Incarnation, refuses(fmt.Sprint("GET /", i)))
	}
	b.Shift(20 * time.Second)
	mark(r.Incarnation, refuses("GET /5"))
	mark(r.Incarnation, accepts("GET /6"))
	got := b.load().Routes
	if len(got) != session.MaxRoutes {
		b.Fatalf("%d marks are kept: %+v", len(got), got)
	}
	for i, want := range []session.RouteMark{refuses("GET /17"), refuses("GET /5"), accepts("GET /6")} {
		have := got[len(got)-3+i]
		b.near("age of "+have.Route, have.Ago, map[int]time.Duration{0: 20 * time.Second}[i])
		if have.Ago = 0; have != want {
			b.Errorf("%+v instead of %+v", have, want)
		}
	}
	r = b.acquire(nil)
	if err := b.Store.Release(ctx, key, session.Release{Incarnation: r.Incarnation, Fence: r.Fence,
		Clear: true}); err != nil {
		b.Fatal(err)
	}
	if got := b.load().Routes; len(got) != 0 {
		b.Errorf("left after a reset: %+v", got)
	}
}
