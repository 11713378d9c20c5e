package sessiontest

import (
	"context"
	"maps"
	"slices"
	"time"

	"opdeck/api/session"
)

// Log implements Store.
func (m *Memory) Log(_ context.Context, key session.Key, e session.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, _ := m.row(key)
	r.seq++
	e.Seq, e.At = r.seq, m.clock.Wall()
	r.events = lastN(append(r.events, e), session.MaxEvents)
	if e.Counted() {
		r.counts[e.Kind]++
	}
	return nil
}

// Events implements Store.
func (m *Memory) Events(_ context.Context, key session.Key, after int64, n int) ([]session.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, _ := m.row(key)
	i, _ := slices.BinarySearchFunc(r.events, after+1, func(e session.Event, seq int64) int { return int(e.Seq - seq) })
	return lastN(r.events[i:], n), nil
}

// Count implements Store.
func (m *Memory) Count(_ context.Context, key session.Key) (map[session.EventKind]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, _ := m.row(key)
	return maps.Clone(r.counts), nil
}

// Beat implements Store.
func (m *Memory) Beat(_ context.Context, key session.Key, o session.Owner) error {
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
func (m *Memory) Leave(_ context.Context, key session.Key, ownerID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, _ := m.row(key)
	delete(r.instances, ownerID)
	return nil
}

// Instances implements Store.
func (m *Memory) Instances(_ context.Context, key session.Key) ([]session.Instance, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, now := m.row(key)
	var out []session.Instance
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
	slices.SortFunc(out, func(a, b session.Instance) int {
		if a.Ago != b.Ago {
			return int(a.Ago - b.Ago)
		}
		return int(b.Started.Sub(a.Started))
	})
	return out, nil
}
