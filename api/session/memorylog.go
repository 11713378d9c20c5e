package session

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Log implements Store.
func (m *Memory) Log(_ context.Context, key Key, e Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, _ := m.row(key)
	r.seq++
	e.Seq, e.At = r.seq, m.clock.Wall()
	r.events = lastN(append(r.events, e), MaxEvents)
	if e.Counted() {
		r.counts[e.Kind]++
	}
	return nil
}

// Counted reports whether Count counts the event: rotations that went well, and
// everything that is no rotation.
func (e Event) Counted() bool {
	return (e.Kind != EventLogin && e.Kind != EventRefresh) || e.Outcome == OK
}

// Events implements Store.
func (m *Memory) Events(_ context.Context, key Key, after int64, n int) ([]Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, _ := m.row(key)
	i, _ := slices.BinarySearchFunc(r.events, after+1, func(e Event, seq int64) int { return int(e.Seq - seq) })
	return lastN(r.events[i:], n), nil
}

// Count implements Store.
func (m *Memory) Count(_ context.Context, key Key) (map[EventKind]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, _ := m.row(key)
	return maps.Clone(r.counts), nil
}

// Beat implements Store.
func (m *Memory) Beat(_ context.Context, key Key, o Owner) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, now := m.row(key)
	in, ok := r.instances[o.ID]
	if !ok {
		in.v.Started = m.clock.Wall()
	}
	in.at, in.v.Owner, in.v.SeenAt = now, o, m.clock.Wall()
	r.instances[o.ID] = in
	return nil
}

// Leave implements Store.
func (m *Memory) Leave(_ context.Context, key Key, ownerID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, _ := m.row(key)
	delete(r.instances, ownerID)
	return nil
}

// Instances implements Store.
func (m *Memory) Instances(_ context.Context, key Key) ([]Instance, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, now := m.row(key)
	var out []Instance
	for id, in := range r.instances {
		if in.at > now {
			in.at = now
			r.instances[id] = in
		}
		if now-in.at > 24*time.Hour {
			delete(r.instances, id)
			continue
		}
		in.v.Ago, in.v.Sure = now-in.at, true // all of them are in this process
		out = append(out, in.v)
	}
	slices.SortFunc(out, func(a, b Instance) int {
		if a.Ago != b.Ago {
			return int(a.Ago - b.Ago)
		}
		return int(b.Started.Sub(a.Started))
	})
	return out, nil
}
