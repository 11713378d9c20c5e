package sessiontest

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"opdeck/api/limit"
	"opdeck/api/secret"
	"opdeck/api/session"
)

// Memory is a session.Store in memory that uses the clock's Steady time.
type Memory struct {
	*limit.Memory
	clock session.Clock

	mu    sync.Mutex // guards rows; taken before limit.Memory's own lock
	rows  map[session.Key]*memoryRow
	locks string // pepper
}

// memoryRow holds a Row whose durations are instants of the store's clock.
type memoryRow struct {
	session.Row
	accessUntil, refreshUntil, installed time.Duration
	leaseUntil, loginFrom, refreshFrom   time.Duration
	premature                            []timed[session.Premature]
	blocks                               []timed[session.Block]
	routes                               []timed[session.RouteMark]
	events                               []session.Event
	seq                                  int64
	counts                               map[session.EventKind]int64
	instances                            map[string]timed[session.Instance]
}

type timed[T any] struct {
	at time.Duration
	v  T
}

// NewMemory returns an empty store.
func NewMemory(clock session.Clock) *Memory {
	return &Memory{Memory: limit.NewMemory(clock), clock: clock, rows: map[session.Key]*memoryRow{}, locks: rand.Text()}
}

// row returns the row, creates it if missing, and cuts impossible times (rule G3).
func (m *Memory) row(key session.Key) (*memoryRow, time.Duration) {
	now := m.clock.Steady()
	r := m.rows[key]
	if r == nil {
		r = &memoryRow{Row: session.Row{Incarnation: rand.Text(), State: session.None, Phase: session.Free},
			counts: map[session.EventKind]int64{}, instances: map[string]timed[session.Instance]{}}
		m.rows[key] = r
	}
	r.accessUntil = min(r.accessUntil, now+r.AccessTTL)
	r.refreshUntil = min(r.refreshUntil, now+r.RefreshTTL)
	r.installed = min(r.installed, now)
	r.leaseUntil = min(r.leaseUntil, now+r.LeaseFor)
	r.loginFrom = min(r.loginFrom, now+session.MaxBackoff)
	r.refreshFrom = min(r.refreshFrom, now+session.MaxBackoff)
	for i := range r.premature {
		r.premature[i].at = min(r.premature[i].at, now)
	}
	for i := range r.blocks {
		r.blocks[i].at = min(r.blocks[i].at, now)
	}
	for i := range r.routes {
		r.routes[i].at = min(r.routes[i].at, now)
	}
	return r, now
}

// Saved saves the row of key; restore undoes it, like a restored backup.
func (m *Memory) Saved(key session.Key) (restore func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := *m.rows[key]
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.rows[key] = &was
	}
}

// view is the Row as a reader sees it.
func (m *Memory) view(r *memoryRow, now time.Duration) session.Row {
	v := r.Row
	v.AccessLeft, v.RefreshLeft = max(0, r.accessUntil-now), max(0, r.refreshUntil-now)
	if v.LeaseLeft = 0; r.Phase != session.Free {
		v.LeaseLeft = max(0, r.leaseUntil-now)
	}
	v.LoginWait, v.RefreshWait = max(0, r.loginFrom-now), max(0, r.refreshFrom-now)
	v.Age = now - r.installed
	v.Premature, v.Blocks, v.Routes = nil, nil, nil
	for _, p := range r.premature {
		p.v.Ago = now - p.at
		v.Premature = append(v.Premature, p.v)
	}
	for _, b := range r.blocks {
		b.v.Ago = now - b.at
		v.Blocks = append(v.Blocks, b.v)
	}
	for _, m := range r.routes {
		m.v.Ago = now - m.at
		v.Routes = append(v.Routes, m.v)
	}
	v.Pepper = secret.New(m.locks)
	v.At = m.clock.Wall()
	return v
}

// Load implements Store.
func (m *Memory) Load(_ context.Context, key session.Key) (session.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, now := m.row(key)
	return m.view(r, now), nil
}

// Enter implements Store.
func (m *Memory) Enter(ctx context.Context, key session.Key, req limit.Request,
	usable func(session.Row) bool) (session.Row, limit.Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, now := m.row(key)
	v := m.view(r, now)
	if !usable(v) {
		return v, limit.Grant{}, nil
	}
	g, err := m.Take(ctx, key, req)
	return v, g, err
}

// Acquire implements Store.
func (m *Memory) Acquire(_ context.Context, key session.Key, c session.Claim) (session.Row, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, now := m.row(key)
	same := r.Incarnation == c.Incarnation && r.Gen == c.Gen && r.Fence == c.Fence
	if !same || (r.Phase != session.Free && r.leaseUntil > now && !c.Over) {
		return m.view(r, now), false, nil
	}
	if (r.Phase.Sent() || c.Doubt) && r.State == session.Live {
		r.State, r.Refresh = session.Doubtful, secret.Value{}
	}
	if c.Premature != nil {
		r.premature = lastN(append(r.premature, timed[session.Premature]{now, *c.Premature}), session.MaxPremature)
	}
	if c.Renew {
		r.Incarnation = rand.Text()
	}
	r.Fence++
	r.Phase, r.Owner, r.HasLock = session.Held, c.Owner, c.HasLock
	r.LeaseFor, r.leaseUntil = c.For, now+c.For
	return m.view(r, now), true, nil
}

func lastN[T any](s []T, n int) []T { return slices.Clone(s[max(0, len(s)-n):]) }

// Mark implements Store.
func (m *Memory) Mark(ctx context.Context, key session.Key, k session.Mark) (time.Duration, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, now := m.row(key)
	if r.Incarnation != k.Incarnation || r.Fence != k.Fence || r.Owner.ID != k.Owner || r.Phase == session.Free ||
		r.leaseUntil <= now {
		return 0, session.ErrFenced
	}
	class, phase := k.Kind.Marks()
	g, err := m.Take(ctx, key, limit.Request{Class: class, Rule: k.Rule, As: session.SlotOf(k.Incarnation, k.Fence)})
	if err != nil || !g.Taken {
		return max(g.Wait, 1), err
	}
	r.Phase, r.LeaseFor, r.leaseUntil = phase, k.For, now+k.For
	return 0, nil
}

// Install implements Store.
func (m *Memory) Install(_ context.Context, key session.Key, in session.Install) (session.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, now := m.row(key)
	if r.Incarnation != in.Incarnation || r.Fence != in.Fence {
		return m.view(r, now), session.ErrFenced
	}
	if r.Phase == session.Free && r.State == session.Live && r.Access.Equal(in.Access) {
		return m.view(r, now), nil
	}
	if !r.Phase.Sent() {
		return m.view(r, now), session.ErrFenced
	}
	r.Gen++
	r.State, r.Phase, r.Fails, r.HasLock = session.Live, session.Free, 0, false
	r.Access, r.Refresh, r.AccessTTL, r.RefreshTTL = in.Access, in.Refresh, in.AccessTTL, in.RefreshTTL
	r.accessUntil, r.refreshUntil = now+in.AccessTTL-in.Elapsed, now+in.RefreshTTL-in.Elapsed
	r.installed, r.From, r.By = now, in.Kind, in.By
	r.loginFrom, r.refreshFrom = now, now+in.RefreshWait
	return m.view(r, now), nil
}

// Release implements Store.
func (m *Memory) Release(_ context.Context, key session.Key, rel session.Release) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, now := m.row(key)
	if r.Incarnation != rel.Incarnation || r.Fence != rel.Fence || r.Phase == session.Free {
		return session.ErrFenced
	}
	if class, phase := rel.Unsent.Marks(); rel.Unsent != "" && r.Phase == phase {
		m.Drop(key, class, session.SlotOf(rel.Incarnation, rel.Fence))
	}
	r.Phase, r.HasLock = session.Free, false
	if rel.Clear {
		r.Fails, r.loginFrom, r.refreshFrom, r.premature, r.blocks, r.routes = 0, now, now, nil, nil, nil
	}
	if rel.Spent {
		r.Refresh = secret.Value{}
	}
	switch rel.State {
	case session.Doubtful:
		if r.State != session.None {
			r.State = session.Doubtful
		}
		r.Refresh = secret.Value{}
	case session.None:
		r.State, r.Access, r.Refresh = session.None, secret.Value{}, secret.Value{}
	}
	if rel.LoginWait > 0 {
		r.loginFrom = now + min(rel.LoginWait, session.MaxBackoff)
	}
	if rel.RefreshWait > 0 {
		r.refreshFrom = now + min(rel.RefreshWait, session.MaxBackoff)
	}
	if rel.Fail {
		r.Fails++
	}
	if b := rel.Block; b != nil {
		r.blocks = slices.DeleteFunc(r.blocks, func(have timed[session.Block]) bool {
			return have.v.Fingerprint == b.Fingerprint
		})
		r.blocks = lastN(append(r.blocks, timed[session.Block]{now, *b}), session.MaxBlocks)
	}
	return nil
}

// MarkRoute implements Store.
func (m *Memory) MarkRoute(_ context.Context, key session.Key, incarnation string, mark session.RouteMark) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, now := m.row(key); r.Incarnation == incarnation && r.Gen == mark.Gen {
		r.routes = session.AddRoute(r.routes, timed[session.RouteMark]{now, mark},
			func(t timed[session.RouteMark]) session.RouteMark { return t.v })
	}
	return nil
}

// Changed implements Store: it never sends.
func (m *Memory) Changed(session.Key) (changed <-chan struct{}, stop func()) { return nil, func() {} }
