package session

// Liveness is the hint that a holder is alive (rules L1 to L3). It only makes a
// takeover faster; the lease is what gives the right. It must reach as far as
// the Store does: processes that share the rows see the same locks, whatever their
// host is called.
type Liveness interface {
	// Hold takes the lock of key until release is called or this process dies.
	// ok is false when it is not available; the rotation goes on without.
	Hold(key Key) (release func(), ok bool)
	// Gone reports that nobody holds the lock of key. When in
	// doubt: false.
	Gone(key Key) bool
}
