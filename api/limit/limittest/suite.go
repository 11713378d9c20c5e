// Package limittest is the suite that every limit.Store passes.
package limittest

import (
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

// Run holds a store against the contract. open returns a fresh, empty store and
// closes it with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) Opened) {
	for name, run := range cases {
		t.Run(name, func(t *testing.T) { run(t, open(t)) })
	}
}

var cases = map[string]func(*testing.T, Opened){}
