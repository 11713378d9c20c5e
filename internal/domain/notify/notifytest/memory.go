// Package notifytest has a store of notices in memory, the suite that every such store passes, and a simulation of
// several instances.
package notifytest

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"opdeck/internal/domain/notify"
)

// Memory is a store in memory.
type Memory struct {
	Now func() time.Time

	mu      sync.Mutex
	rules   map[[2]string]notify.Shared // guarded by mu: by scope and name
	notices []*kept                     // guarded by mu: oldest first
}

type kept struct {
	notify.Kept
	scope, owner string
	next, until  time.Time
}

var _ notify.Store = (*Memory)(nil)

// NewMemory returns a store with a clock; nil: time.Now.
func NewMemory(now func() time.Time) *Memory {
	if now == nil {
		now = time.Now
	}
	return &Memory{Now: now, rules: map[[2]string]notify.Shared{}}
}

// copied is v as it would be read from a database.
func copied[T any](v T) (out T) {
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

// Shared implements notify.Store.
func (m *Memory) Shared(_ context.Context, scope string) (map[string]notify.Shared, time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]notify.Shared{}
	for key, r := range m.rules {
		if key[0] == scope {
			out[key[1]] = r // no one changes a State in place
		}
	}
	return out, m.Now(), nil
}

// Update implements notify.Store.
func (m *Memory) Update(_ context.Context, scope, rule string,
	change func(notify.State, bool) (notify.State, []notify.Notice, bool)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	key, now := [2]string{scope, rule}, m.Now()
	r := m.rules[key]
	next, add, changed := change(r.State, r.Silence.Active(now))
	if !changed {
		return nil
	}
	r.State = copied(next)
	m.rules[key] = r
	for _, n := range add {
		if slices.ContainsFunc(m.notices, func(k *kept) bool { return k.scope == scope && k.Notice.ID == n.ID }) {
			continue
		}
		k := &kept{scope: scope, Kept: notify.Kept{Notice: copied(n), Phase: notify.Waiting}}
		if n.Silenced {
			k.Phase, k.Ended = notify.Silenced, now
		}
		m.notices = append(m.notices, k)
	}
	m.notices = slices.DeleteFunc(m.notices, func(k *kept) bool {
		return !k.Ended.IsZero() && now.Sub(k.Ended) > notify.NoticesKept
	})
	return nil
}

// Claim implements notify.Store.
func (m *Memory) Claim(_ context.Context, scope, rule, owner string) (d notify.Delivery, ok bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.Now()
	silent := m.rules[[2]string{scope, rule}].Silence.Active(now)
	for _, k := range m.notices {
		if k.scope != scope || k.Notice.Name != rule || !k.Ended.IsZero() {
			continue
		}
		claimed := k.Phase == notify.Sending && k.until.After(now) && !k.until.After(now.Add(notify.Lease))
		switch {
		case silent && !claimed:
			k.Phase, k.Ended = notify.Silenced, now
			continue
		case claimed, k.Phase == notify.Waiting && k.next.After(now) && !k.next.After(now.Add(notify.RetryMost)):
			return d, false, nil
		}
		k.Phase, k.owner, k.until = notify.Sending, owner, now.Add(notify.Lease)
		k.Attempts++
		return notify.Delivery{Notice: k.Notice, Attempt: k.Attempts}, true, nil
	}
	return d, false, nil
}

// Done implements notify.Store.
func (m *Memory) Done(_ context.Context, scope, owner, id string, o notify.Outcome) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.Now()
	for _, k := range m.notices {
		if k.scope != scope || k.Notice.ID != id || k.owner != owner || k.Phase != notify.Sending {
			continue
		}
		k.Error = o.Error
		switch {
		case o.Delivered:
			k.Phase, k.Ended = notify.Sent, now
		case o.Retry > 0:
			k.Phase, k.next = notify.Waiting, now.Add(o.Retry)
		default:
			k.Phase, k.Ended = notify.Failed, now
		}
	}
	return nil
}

// Silence implements notify.Store.
func (m *Memory) Silence(_ context.Context, scope, rule string, s notify.Silence) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.rules[[2]string{scope, rule}]
	r.Silence = s
	m.rules[[2]string{scope, rule}] = r
	return nil
}

// Summaries implements notify.Store.
func (m *Memory) Summaries(ctx context.Context, scope string) (map[string]notify.Summary, time.Time, error) {
	rules, now, err := m.Shared(ctx, scope)
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]notify.Summary{}
	for name, r := range rules {
		s := notify.Summary{Silence: r.Silence, Phases: map[notify.Phase]int{}}
		for _, k := range slices.Backward(m.notices) {
			if k.scope == scope && k.Notice.Name == name {
				s.Phases[k.Phase]++
				s.Newest = append(s.Newest, k.Kept)
			}
		}
		s.Newest = s.Newest[:min(len(s.Newest), 20)]
		out[name] = s
	}
	return out, now, err
}
