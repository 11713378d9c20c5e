package sshserver

import (
	"net/netip"
	"slices"
	"sync"
	"time"
)

// preAuthLimit limits unauthenticated connections: in total, from one narrow network (/32 of IPv4, /64 of IPv6, which
// one sender has) and from one wide one (/24, /48). Some places are reserved for sources of earlier logins, which are
// exempt from the wide limit.
//
// A connection beyond a limit takes the place of the one whose client has made us wait longest, silent ones first. If
// all make progress, it waits its turn; clients that have sent something come before silent ones.
type preAuthLimit struct {
	all, reserved int           // places, and those reserved for known sources
	narrow, wide  int           // places per network
	queueWait     time.Duration // for a place
	silentFor     time.Duration // how long a client may make us wait before it can lose its place
	known         *knownSources

	mu      sync.Mutex
	inside  map[*place]bool      // guarded by mu
	from    map[netip.Prefix]int // guarded by mu: places by narrow network
	around  map[netip.Prefix]int // guarded by mu: of unknown sources, by wide network
	unknown int                  // guarded by mu: of unknown sources
	queue   []*place             // guarded by mu: waiting connections, oldest first
	retry   *time.Timer          // guarded by mu: runs admit while the queue is not empty
}

// client is the connection with a place.
type client interface {
	// waited is the total time that it has made us wait; silent: it has never sent any SSH.
	waited() (d time.Duration, silent bool)
	// proving reports whether it has offered an accepted key, so that a person may have to touch it or type a
	// passphrase.
	proving() bool
	// drop closes it.
	drop()
	// lost is closed when it has ended before it sent anything; nil: never.
	lost() <-chan struct{}
}

// place is one connection, admitted or queued.
type place struct {
	narrow, wide netip.Prefix
	known        bool
	client       client
	decided      chan struct{} // closed when it left the queue
	admitted     bool          // set before decided is closed
}

func (p *place) silent() bool { _, silent := p.client.waited(); return silent }

func (p *place) admit() { p.admitted = true; close(p.decided) }

// retryEvery is how often places are given to the queue. slowFactor is how much longer than a silent client one that
// sends may make us wait.
const (
	slowFactor = 4
	retryEvery = 20 * time.Millisecond
)

func newPreAuthLimit(l Limits) *preAuthLimit {
	return &preAuthLimit{all: l.Pending, reserved: l.PendingKept, narrow: l.PerSource, wide: l.PerNetwork,
		queueWait: l.QueueWait, silentFor: l.SilentFor,
		known: &knownSources{max: maxKnown}, inside: map[*place]bool{}, from: map[netip.Prefix]int{},
		around: map[netip.Prefix]int{}}
}

// networks are the narrow and the wide network of an address; without an address both are the zero Prefix.
func networks(a netip.Addr) (narrow, wide netip.Prefix) {
	a = a.Unmap().WithZone("")
	bits := [2]int{32, 24}
	if a.Is6() {
		bits = [2]int{64, 48}
	}
	narrow, _ = a.Prefix(bits[0])
	wide, _ = a.Prefix(bits[1])
	return narrow, wide
}

// enter acquires a place for a connection; ok is false if there was none in time. leave releases it and may be called
// twice.
func (l *preAuthLimit) enter(a netip.Addr, c client, stop <-chan struct{}) (leave func(), ok bool) {
	p := &place{client: c, decided: make(chan struct{})}
	p.narrow, p.wide = networks(a)
	p.known = l.known.has(p.narrow)
	if l.enqueue(p) {
		l.admit()
	}
	t := time.NewTimer(l.queueWait)
	defer t.Stop()
	select {
	case <-p.decided:
	case <-t.C:
	case <-c.lost():
	case <-stop:
	}
	if l.dequeue(p); !p.admitted {
		return nil, false
	}
	return sync.OnceFunc(func() { l.leave(p) }), true
}

// enqueue appends p to the queue, which the listener's limit of connections bounds. first: the queue was empty; else
// admit runs at intervals.
func (l *preAuthLimit) enqueue(p *place) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, p)
	return len(l.queue) == 1
}

// dequeue removes p from the queue if it is still there.
func (l *preAuthLimit) dequeue(p *place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.queue, p); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
	}
}

// admit gives places to the queue, in order, and closes the connections that lose theirs.
func (l *preAuthLimit) admit() {
	l.mu.Lock()
	var dropped []*place
	for _, silent := range []bool{false, true} {
		l.queue = slices.DeleteFunc(l.queue, func(p *place) bool {
			if p.silent() != silent {
				return false
			}
			if full := l.full(p); full != nil {
				victim := l.slowest(full, silent)
				if victim == nil {
					return false
				}
				l.remove(victim)
				dropped = append(dropped, victim)
				if l.full(p) != nil { // another limit applies as well
					return false
				}
			}
			l.add(p)
			p.admit()
			return true
		})
	}
	if len(l.queue) > 0 {
		if l.retry == nil {
			l.retry = time.AfterFunc(retryEvery, l.admit)
		} else {
			l.retry.Reset(retryEvery)
		}
	}
	l.mu.Unlock()
	for _, p := range dropped {
		p.client.drop()
	}
}

// full selects the places that p would have to wait for; nil if one is free. The caller holds mu.
func (l *preAuthLimit) full(p *place) func(*place) bool {
	strangers := func(q *place) bool { return !q.known }
	switch {
	case l.from[p.narrow] >= l.narrow:
		return func(q *place) bool { return q.narrow == p.narrow }
	case !p.known && l.around[p.wide] >= l.wide:
		return func(q *place) bool { return !q.known && q.wide == p.wide }
	case !p.known && (l.unknown >= l.all-l.reserved || len(l.inside) >= l.all):
		return strangers
	case len(l.inside) >= l.all && l.unknown > 0:
		return strangers
	case len(l.inside) >= l.all:
		return func(*place) bool { return true }
	}
	return nil
}

// slowest is the place to take away first: that of the silent client that made us wait longest, at least quiet; else,
// unless it is for a silent client, that of the slowest client, at least slowFactor times as long. nil: all make
// progress. The caller holds mu.
func (l *preAuthLimit) slowest(of func(*place) bool, forSilent bool) *place {
	var mute, slow *place
	most, mostSlow := l.silentFor, slowFactor*l.silentFor
	for p := range l.inside {
		if !of(p) || p.client.proving() {
			continue
		}
		switch w, silent := p.client.waited(); {
		case silent && w >= most:
			mute, most = p, w
		case !silent && w >= mostSlow:
			slow, mostSlow = p, w
		}
	}
	if mute != nil || forSilent {
		return mute
	}
	return slow
}

func (l *preAuthLimit) add(p *place) {
	l.inside[p] = true
	l.from[p.narrow]++
	if !p.known {
		l.unknown++
		l.around[p.wide]++
	}
}

func (l *preAuthLimit) remove(p *place) {
	delete(l.inside, p)
	decrement(l.from, p.narrow)
	if !p.known {
		l.unknown--
		decrement(l.around, p.wide)
	}
}

// leave releases a place; one that was taken away is gone already.
func (l *preAuthLimit) leave(p *place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inside[p] {
		l.remove(p)
	}
}

// count is the number of admitted connections.
func (l *preAuthLimit) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.inside)
}
