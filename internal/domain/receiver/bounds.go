package receiver

import (
	"net/netip"
	"sync"
	"time"
)

// bounds limits the requests a second of one source, and the concurrent requests in total and of one source.
type bounds struct {
	rate        float64 // requests a second, with a burst of one second; 0 or less: no limit
	total, each int     // concurrent requests

	mu   sync.Mutex // guards the rest
	used int
	by   map[netip.Addr]*load
}

// load is a source's usage of its limits.
type load struct {
	working int
	left    float64 // requests of the burst left at that time
	at      time.Time
}

const maxSources = 10_000 // remembered

func newBounds(rate float64, total, each int) *bounds {
	return &bounds{rate: rate, total: total, each: each, by: map[netip.Addr]*load{}}
}

// of returns the source's load. The caller holds mu.
func (b *bounds) of(source netip.Addr, now time.Time) *load {
	l := b.by[source]
	if l == nil {
		if len(b.by) >= maxSources {
			b.forget(now)
		}
		l = &load{left: b.rate, at: now}
		b.by[source] = l
	}
	return l
}

// allow reports whether the source may send one more request now.
func (b *bounds) allow(source netip.Addr, now time.Time) bool {
	if b.rate <= 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.of(source, now)
	if d := now.Sub(l.at).Seconds(); d > 0 {
		l.left, l.at = min(b.rate, l.left+d*b.rate), now
	}
	if l.left < 1 {
		return false
	}
	l.left--
	return true
}

// acquire reports whether one more request of the source may be handled; release ends it.
func (b *bounds) acquire(source netip.Addr, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.by[source]; b.used >= b.total || l != nil && l.working >= b.each {
		return false
	}
	b.used++
	b.of(source, now).working++
	return true
}

func (b *bounds) release(source netip.Addr) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used--
	if l := b.by[source]; l.working > 1 || b.rate > 0 {
		l.working--
	} else {
		delete(b.by, source)
	}
}

func (b *bounds) inUse() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// forget drops idle sources with their full rate; if there is none, all idle ones.
func (b *bounds) forget(now time.Time) {
	for _, idle := range []time.Duration{time.Second, 0} {
		for a, l := range b.by {
			if l.working == 0 && now.Sub(l.at) >= idle {
				delete(b.by, a)
			}
		}
		if len(b.by) < maxSources {
			return
		}
	}
}
