// Package sessiontest is the suite that every session.Store passes.
package sessiontest

import (
	"testing"
	"time"

	"opdeck/api/limit/limittest"
	"opdeck/api/session"
)

// Opened is a store under test.
type Opened struct {
	Store session.Store
	// Peer is a second handle on the same data, as another process would have it;
	// it may be Store itself where there is no such thing.
	Peer session.Store
	// Shift moves the store's clock by d, also backwards, from now on: the
	// injected clock of a store on one host, an offset added to the database's
	// clock otherwise. All handles share it.
	Shift func(d time.Duration)
}

// Run holds a store against the contract. open returns a fresh, empty store and
// closes it with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) Opened) {
	t.Run("Limit", func(t *testing.T) {
		limittest.Run(t, func(t *testing.T) limittest.Opened {
			o := open(t)
			return limittest.Opened{Store: o.Store, Peer: o.Peer, Shift: o.Shift}
		})
	})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(&bench{T: t, Opened: open(t), key: key1}) })
	}
}

// cases lists all tests of this package.
var cases []testCase

type testCase struct {
	name string
	run  func(b *bench)
}

var key1 = session.Key{BaseURL: "https://one.example", Account: "machine@one"}

type bench struct {
	*testing.T
	Opened
	key session.Key
}
