package session

// Liveness is a hint that a holder is alive (rules L1 to L3). It only speeds up a takeover; the lease decides. Its
// locks must have the Store's scope: processes that share the rows see the same locks, on any host.
type Liveness interface {
	// Hold takes the lock of key until release is called or this process dies. ok is false if the lock is not
	// available; the rotation continues without it.
	Hold(key Key) (release func(), ok bool)
	// Gone reports that no process holds the lock of key; false when in doubt.
	Gone(key Key) bool
}
