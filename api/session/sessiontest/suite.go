// Package sessiontest is the suite that every session.Store passes.
package sessiontest

import (
	"context"
	"errors"
	"testing"
	"time"

	"opdeck/api/limit"
	"opdeck/api/limit/limittest"
	"opdeck/api/secret"
	"opdeck/api/session"
)

// Opened is an open store under test.
type Opened struct {
	Store session.Store
	// Peer is a second handle on the same data, as another process has; it may be Store itself if the engine has no
	// such thing.
	Peer session.Store
	// Shift moves the store's clock by d, in either direction, for all handles: a store on one host uses the injected
	// clock, a database adds an offset to its own.
	Shift func(d time.Duration)
}

// Run checks that a store fulfils the contract. open returns a fresh, empty store and closes it with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) Opened) {
	t.Run("Limit", func(t *testing.T) {
		limittest.Run(t, func(t *testing.T) limittest.Opened {
			o := open(t)
			return limittest.Opened{Store: o.Store, Peer: o.Peer, Shift: o.Shift}
		})
	})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(&bench{T: t, Opened: open(t)}) })
	}
}

type testCase struct {
	name string
	run  func(b *bench)
}

// cases lists all tests of this package.
var cases = []testCase{
	{"LoadCreates", loadCreates},
	{"AcquireComparesEverything", acquireCompares},
	{"AcquireWhileHeld", acquireWhileHeld},
	{"TakeoverOfHeldKeepsThePair", takeoverHeld},
	{"TakeoverOfSentDoubtsThePair", takeoverSent},
	{"OverTakesAtOnce", acquireOver},
	{"DoubtAndPremature", doubt},
	{"RouteMarks", routeMarks},
	{"Renew", renew},
	{"MarkComparesEverything", markCompares},
	{"MarkTakesTheSlot", markTakesSlot},
	{"MarkAgainUnderOneFence", markAgain},
	{"UnsentGivesTheSlotBack", unsent},
	{"InstallLifetimes", installLifetimes},
	{"InstallIsFenced", installFenced},
	{"InstallAgain", installAgain},
	{"InstallAfterTheLeaseIsOver", installLate},
	{"InstallWithoutRefreshToken", installNoRefresh},
	{"TokensOfAnyShape", tokens},
	{"ReleaseKeepsOrDoubts", release},
	{"ReleaseIsFenced", releaseFenced},
	{"ReleaseWaitsAndBlocks", releaseWaits},
	{"ClockSetBack", clockSetBack},
	{"EnterIsOneRead", enter},
	{"History", history},
	{"Instances", instances},
	{"KeysApart", apart},
	{"Concurrent", concurrent},
}

const (
	slack     = 3 * time.Second // real time that a test may take
	leaseHeld = time.Minute
	leaseSent = 2 * time.Minute
)

var (
	ctx     = context.Background()
	key     = session.Key{BaseURL: "https://one.example", Account: "machine@one"}
	keyTwo  = session.Key{BaseURL: "https://one.example", Account: "machine@two"}
	me      = session.Owner{ID: "aaaa", Host: "h1", PID: 7, User: "ana", Version: "1.0"}
	other   = session.Owner{ID: "bbbb", Host: "h2", PID: 8}
	many    = limit.Rule{N: 1000, Window: limit.AuthWindow}
	oneOnly = limit.Rule{N: 1, Window: limit.AuthWindow}
)

type bench struct {
	*testing.T
	Opened
}

func (b *bench) load() session.Row {
	b.Helper()
	r, err := b.Peer.Load(ctx, key)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// claim makes a Claim that fits r.
func claim(r session.Row, o session.Owner) session.Claim {
	return session.Claim{Incarnation: r.Incarnation, Gen: r.Gen, Fence: r.Fence, Owner: o, For: leaseHeld}
}

// acquire acquires the lease or fails the test.
func (b *bench) acquire(change func(*session.Claim)) session.Row {
	b.Helper()
	was := b.load()
	c := claim(was, me)
	if change != nil {
		change(&c)
	}
	r, ok, err := b.Store.Acquire(ctx, key, c)
	if err != nil || !ok {
		b.Fatalf("the lease is not had: %v, %v", ok, err)
	}
	if r.Fence != was.Fence+1 || r.Phase != session.Held {
		b.Fatalf("after the claim: fence %d (was %d), phase %s", r.Fence, was.Fence, r.Phase)
	}
	return r
}

func markOf(r session.Row, kind session.Kind) session.Mark {
	return session.Mark{Incarnation: r.Incarnation, Fence: r.Fence, Owner: me.ID, Kind: kind, For: leaseSent, Rule: many}
}

// mark announces kind or fails the test.
func (b *bench) mark(r session.Row, kind session.Kind) {
	b.Helper()
	if wait, err := b.Store.Mark(ctx, key, markOf(r, kind)); err != nil || wait != 0 {
		b.Fatalf("not announced: wait %s, %v", wait, err)
	}
}

func installOf(r session.Row, access string) session.Install {
	return session.Install{Incarnation: r.Incarnation, Fence: r.Fence, Kind: session.ByLogin, Access: secret.New(access),
		Refresh:   secret.New("refresh of " + access),
		AccessTTL: 5 * time.Minute, RefreshTTL: 15 * time.Minute, By: me}
}

// login installs a pair by a login.
func (b *bench) login(access string) session.Row {
	b.Helper()
	r := b.acquire(nil)
	b.mark(r, session.ByLogin)
	got, err := b.Store.Install(ctx, key, installOf(r, access))
	if err != nil {
		b.Fatal(err)
	}
	return got
}

func (b *bench) near(what string, got, want time.Duration) {
	b.Helper()
	if (got - want).Abs() > slack {
		b.Fatalf("%s: %s, want about %s", what, got, want)
	}
}

func (b *bench) fenced(what string, err error) {
	b.Helper()
	if !errors.Is(err, session.ErrFenced) {
		b.Fatalf("%s: %v, want ErrFenced", what, err)
	}
}

// pair checks state and tokens.
func (b *bench) pair(r session.Row, state session.PairState, access, refresh string) {
	b.Helper()
	if r.State != state || r.Access.Reveal() != access || r.Refresh.Reveal() != refresh {
		b.Fatalf("the pair is %s %q %q, want %s %q %q", r.State, r.Access.Reveal(), r.Refresh.Reveal(), state, access,
			refresh)
	}
}
