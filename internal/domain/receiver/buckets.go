package receiver

import (
	"net/netip"
	"sync"
	"time"
)

// buckets bounds how many requests a second one address may send.
type buckets struct {
	rate float64 // a second; a second's worth may come at once

	mu  sync.Mutex // guards all
	all map[netip.Addr]*bucket
}

type bucket struct {
	left float64
	at   time.Time
}

const maxBuckets = 10_000 // addresses remembered

func newBuckets(rate float64) *buckets {
	return &buckets{rate: rate, all: map[netip.Addr]*bucket{}}
}

// take reports whether the address has room for one more request at now.
func (b *buckets) take(a netip.Addr, now time.Time) bool {
	if b.rate <= 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.all[a]
	if k == nil {
		if len(b.all) >= maxBuckets {
			b.forget(now)
		}
		k = &bucket{left: b.rate, at: now}
		b.all[a] = k
	}
	if d := now.Sub(k.at).Seconds(); d > 0 {
		k.left, k.at = min(b.rate, k.left+d*b.rate), now
	}
	if k.left < 1 {
		return false
	}
	k.left--
	return true
}

// forget drops the addresses that are full again; all, if none is.
func (b *buckets) forget(now time.Time) {
	for a, k := range b.all {
		if now.Sub(k.at) >= time.Second {
			delete(b.all, a)
		}
	}
	if len(b.all) >= maxBuckets {
		clear(b.all)
	}
}
