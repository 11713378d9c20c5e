// Package limittest is the suite that every limit.Store passes.
package limittest

import (
	"context"
	"testing"
	"time"

	"opdeck/api/limit"
)

// Opened is a store under test.
type Opened struct {
	Store limit.Store
	// Peer is a second handle on the same data; it may be Store itself.
	Peer limit.Store
	// Shift moves the store's clock by d, also backwards, from now on.
	Shift func(d time.Duration)
}

// Run checks that a store fulfils the contract. open returns a fresh, empty store and closes it with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) Opened) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(&bench{T: t, Opened: open(t)}) })
	}
}

type testCase struct {
	name string
	run  func(b *bench)
}

var cases = []testCase{
	{"UsersAreNamed", users},
	{"TwelveThenWait", twelveThenWait},
	{"NoSlotInTimeReservesNothing", noSlotInTime},
	{"FirstComeFirstServed", fifo},
	{"ConfirmAfterWaiting", confirm},
	{"LateIsMovedAndStillExact", late},
	{"LateDoesNotCountItself", lateAlone},
	{"GiveBack", giveBack},
	{"BackgroundLeavesRoom", background},
	{"BackgroundBehindPeople", backgroundWaits},
	{"WarnSendsAndMarks", warn},
	{"ThrottleHoldsEverybody", throttle},
	{"ThrottleMeanwhile", throttleMeanwhile},
	{"ThrottleMovesWaiters", throttleMoves},
	{"ClockSetBack", clockSetBack},
	{"KeysAndClassesApart", apart},
	{"StateHasAges", ages},
	{"Concurrent", concurrent},
	{"AnyHistoryIsExact", exact},
}

// slack allows for the real time of a test.
const slack = 3 * time.Second

var (
	key1 = limit.Key{BaseURL: "https://one.example", Account: "machine@one"}
	key2 = limit.Key{BaseURL: "https://one.example", Account: "machine@two"}
	rule = limit.Rule{N: 12, Window: limit.Window, Reserve: 4}
)

type bench struct {
	*testing.T
	Opened
}

func request(change func(*limit.Request)) limit.Request {
	r := limit.Request{Class: limit.Billing, Rule: rule, MaxWait: 4 * time.Minute}
	if change != nil {
		change(&r)
	}
	return r
}

func (b *bench) take(change func(*limit.Request)) limit.Grant {
	b.Helper()
	g, err := b.Store.Take(context.Background(), key1, request(change))
	if err != nil {
		b.Fatal(err)
	}
	if g.Wait < 0 || (g.Taken) != (g.Ticket != "") {
		b.Fatalf("a grant that makes no sense: %+v", g)
	}
	return g
}

// fill uses up n slots now.
func (b *bench) fill(n int) {
	b.Helper()
	for range n {
		b.settle(b.take(nil))
	}
}

// settle confirms a grant after a minimal wait.
func (b *bench) settle(g limit.Grant) {
	b.Helper()
	if !g.Taken || g.Wait > time.Second {
		b.Fatalf("want a slot now, got %+v", g)
	}
}

func (b *bench) state(class limit.Class) limit.State {
	b.Helper()
	s, err := b.Store.State(context.Background(), key1)
	if err != nil {
		b.Fatal(err)
	}
	return s[class]
}

func (b *bench) near(what string, got, want time.Duration) {
	b.Helper()
	if (got - want).Abs() > slack {
		b.Fatalf("%s: %s, want about %s", what, got, want)
	}
}

// users: a slot keeps who took it, also when a waiting call moves it.
func users(b *bench) {
	mine := func(r *limit.Request) { r.Who = "ana on alpha" }
	b.settle(b.take(mine))
	for range rule.N - 1 {
		b.settle(b.take(func(r *limit.Request) { r.Who = "borrower nightly on beta" }))
	}
	later := b.take(mine)
	b.Shift(limit.Window + time.Second)
	b.settle(b.take(func(r *limit.Request) { mine(r); r.Ticket = later.Ticket }))
	named := map[string]int{}
	for _, s := range b.state(limit.Billing).Slots {
		named[s.Who]++
	}
	if named["ana on alpha"] != 2 || named["borrower nightly on beta"] != rule.N-1 {
		b.Errorf("%v", named)
	}
}
