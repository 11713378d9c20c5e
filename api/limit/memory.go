package limit

import (
	"cmp"
	"context"
	"crypto/rand"
	"math"
	"slices"
	"sync"
	"time"
)

// Memory is a Store in memory, for tests, for the built-in service, and for calls while the shared store is
// unavailable.
type Memory struct {
	clock Clock
	mu    sync.Mutex // guards rings
	rings map[ringKey]*memoryRing
}

type ringKey struct {
	key   Key
	class Class
}

type memoryRing struct {
	slots     []memorySlot // ascending by at
	notBefore time.Duration
	throttled []time.Duration
}

type memorySlot struct {
	ticket           string
	at               time.Duration
	background, over bool
	who              string
}

// NewMemory returns an empty store that uses clock's Steady time.
func NewMemory(clock Clock) *Memory {
	return &Memory{clock: clock, rings: map[ringKey]*memoryRing{}}
}

// Take implements Store.
func (m *Memory) Take(_ context.Context, key Key, req Request) (Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Steady()
	r := m.ring(key, req.Class, now)
	own, others := r.split(req.Ticket)
	d := Decide(now, Ring{Slots: others, NotBefore: r.notBefore}, req, own)
	if own != nil && (!d.Take || d.Fresh) {
		r.remove(req.Ticket)
	}
	if !d.Take {
		return Grant{Wait: d.Wait}, nil
	}
	ticket := req.Ticket
	if own == nil {
		ticket = cmp.Or(req.As, rand.Text())
	}
	if d.Fresh {
		r.insert(memorySlot{ticket: ticket, at: d.At, background: req.Background, over: d.Over, who: req.Who})
	}
	return Grant{Taken: true, Ticket: ticket, Wait: d.Wait, Over: d.Over}, nil
}

// GiveBack implements Store.
func (m *Memory) GiveBack(_ context.Context, key Key, class Class, ticket string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Steady()
	r := m.ring(key, class, now)
	if own, _ := r.split(ticket); own != nil && *own > now {
		r.remove(ticket)
	}
	return nil
}

// Throttle implements Store.
func (m *Memory) Throttle(_ context.Context, key Key, class Class, wait time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Steady()
	r := m.ring(key, class, now)
	r.notBefore = max(r.notBefore, now+min(max(0, wait), MaxNotBefore))
	r.throttled = append(r.throttled, now)
	return nil
}

// State implements Store.
func (m *Memory) State(_ context.Context, key Key) (map[Class]State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Steady()
	out := map[Class]State{}
	for k := range m.rings {
		if k.key != key {
			continue
		}
		r := m.ring(key, k.class, now)
		st := State{NotBefore: max(0, r.notBefore-now)}
		for _, s := range r.slots {
			st.Slots = append(st.Slots, Slot{Ago: now - s.at, Background: s.background, Over: s.over,
				Who: s.who})
		}
		for _, at := range r.throttled {
			st.Throttled = append(st.Throttled, max(0, now-at))
		}
		out[k.class] = st
	}
	return out, nil
}

// ring returns the ring without slots that are too old, or implausibly far ahead.
func (m *Memory) ring(key Key, class Class, now time.Duration) *memoryRing {
	k := ringKey{key, class}
	r := m.rings[k]
	if r == nil {
		r = &memoryRing{notBefore: math.MinInt64 / 2}
		m.rings[k] = r
	}
	r.slots = slices.DeleteFunc(r.slots, func(s memorySlot) bool { return s.at <= now-Retention || s.at > now+MaxAhead })
	r.throttled = slices.DeleteFunc(r.throttled, func(at time.Duration) bool {
		return at <= now-ThrottleRetention || at > now+MaxAhead
	})
	r.notBefore = min(r.notBefore, now+MaxNotBefore)
	return r
}

// split separates the slot of ticket from the times of all others.
func (r *memoryRing) split(ticket string) (own *time.Duration, others []time.Duration) {
	for _, s := range r.slots {
		if ticket != "" && s.ticket == ticket {
			own = &s.at
			continue
		}
		others = append(others, s.at)
	}
	return own, others
}

func (r *memoryRing) remove(ticket string) {
	r.slots = slices.DeleteFunc(r.slots, func(s memorySlot) bool { return s.ticket == ticket })
}

func (r *memoryRing) insert(s memorySlot) {
	i, _ := slices.BinarySearchFunc(r.slots, s.at, func(have memorySlot, at time.Duration) int {
		return int(have.at - at)
	})
	r.slots = slices.Insert(r.slots, i, s)
}

// Drop deletes a slot although its time has come: its call was not sent.
func (m *Memory) Drop(key Key, class Class, ticket string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ring(key, class, m.clock.Steady()).remove(ticket)
}
