package sshd

import (
	"net/netip"
	"sync"
	"time"
)

// door bounds connections that have not proven who they are, in all and from one
// network: /32 of IPv4, /64 of IPv6, which is what one sender has of addresses.
// Those beyond the bound wait a moment for a place; most handshakes take a few
// hundredths of a second.
type door struct {
	all, each int           // places
	patience  time.Duration // that a connection waits for one

	mu      sync.Mutex
	inside  int                  // guarded by mu
	from    map[netip.Prefix]int // guarded by mu
	waiting int                  // guarded by mu
	queued  map[netip.Prefix]int // guarded by mu
	left    chan struct{}        // guarded by mu: closed and made anew when a place gets free
}

// queueFactor is how many may wait for each place.
const queueFactor = 4

func newDoor(all, each int, patience time.Duration) *door {
	return &door{all: all, each: each, patience: patience, from: map[netip.Prefix]int{}, queued: map[netip.Prefix]int{}, left: make(chan struct{})}
}

// network is what counts as one sender.
func network(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil { // no address: one network of its own
		return netip.Prefix{}
	}
	return p
}

// enter takes a place; ok is false when there was none in time. leave gives it
// back and may be called twice.
func (d *door) enter(a netip.Addr, stop <-chan struct{}) (leave func(), ok bool) {
	net := network(a)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.free(net) && !d.await(net, stop) {
		return nil, false
	}
	d.inside++
	d.from[net]++
	return sync.OnceFunc(func() { d.leave(net) }), true
}

func (d *door) free(net netip.Prefix) bool { return d.inside < d.all && d.from[net] < d.each }

// await waits for a place, with mu held before and after.
func (d *door) await(net netip.Prefix, stop <-chan struct{}) bool {
	if d.waiting >= queueFactor*d.all || d.queued[net] >= queueFactor*d.each {
		return false
	}
	d.waiting++
	d.queued[net]++
	defer func() {
		d.waiting--
		if d.queued[net]--; d.queued[net] == 0 {
			delete(d.queued, net)
		}
	}()
	t := time.NewTimer(d.patience)
	defer t.Stop()
	for !d.free(net) {
		left := d.left
		d.mu.Unlock()
		over := false
		select {
		case <-left:
		case <-t.C:
			over = true
		case <-stop:
			over = true
		}
		d.mu.Lock()
		if over {
			return false
		}
	}
	return true
}

func (d *door) leave(net netip.Prefix) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside--
	if d.from[net]--; d.from[net] == 0 {
		delete(d.from, net)
	}
	close(d.left)
	d.left = make(chan struct{})
}

// count is the number of connections inside.
func (d *door) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inside
}
