package session

import (
	"context"
	"time"
)

// beatEvery is how often an active process reports that it is alive; without a report for aliveFor it is not counted.
const (
	beatEvery = 30 * time.Second
	aliveFor  = 2 * time.Minute
	beatWait  = 2 * time.Second // a store that is locked for longer is not waited for
)

// beat records now and then in the store that this process uses the session, and detects a host that slept or whose
// clock was set.
func (m *Manager) beat(ctx context.Context) {
	now := m.clock.Steady()
	m.mu.Lock()
	jump := m.checkClocks(now)
	due := m.beaten == 0 || now-m.beaten >= beatEvery || now < m.beaten
	if due {
		m.beaten = max(1, now)
	}
	m.mu.Unlock()
	if jump != 0 {
		m.note(ctx, Event{Kind: EventClock, Took: jump, Reason: "the wall clock and the monotonic clock drifted apart"})
		if m.cfg.OnWake != nil {
			m.cfg.OnWake()
		}
	}
	if due {
		ctx, cancel := context.WithTimeout(ctx, beatWait)
		defer cancel()
		if err := m.store.Beat(ctx, m.key, m.owner); err != nil {
			m.log.Warn("session: not listed as an instance", "err", err)
		}
	}
}

// checkClocks compares the progress of wall and steady clock since the last check, and drops the memory copy if they
// differ by more than 5 s (rule G4). The caller holds m.mu.
func (m *Manager) checkClocks(now time.Duration) (jump time.Duration) {
	wall := m.clock.Wall()
	jump = wall.Sub(m.clocks.wall) - (now - m.clocks.steady)
	m.clocks = clockPair{wall: wall, steady: now}
	if jump.Abs() <= 5*time.Second {
		return 0
	}
	m.copied = memoryCopy{}
	return jump
}

// known returns the newest state that a read has shown. A later read must not show an older one (rule A3).
func (m *Manager) known() seen {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen
}

// rolledBack reports whether r is older than the state that was known before it was read.
func (r Row) rolledBack(before seen) bool {
	return r.Incarnation == before.incarnation && (r.Gen < before.gen || r.Fence < before.fence)
}

// load reads the row and records what it shows.
func (m *Manager) load(ctx context.Context) (Row, seen, error) {
	before, start := m.known(), m.clock.Steady()
	row, err := m.store.Load(ctx, m.key)
	if err != nil {
		return row, before, err
	}
	m.saw(row, start)
	return row, before, nil
}

// saw records what a read that began at start has shown.
func (m *Manager) saw(r Row, start time.Duration) {
	now := m.clock.Steady()
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Incarnation != m.seen.incarnation {
		m.seen = seen{r.Incarnation, r.Gen, r.Fence}
	} else {
		m.seen.gen, m.seen.fence = max(m.seen.gen, r.Gen), max(m.seen.fence, r.Fence)
	}
	if w := (leaseWatch{r.Incarnation, r.Fence, r.Phase, m.lease.since}); w != m.lease {
		w.since = now
		m.lease = w
	}
	if r.State != Live {
		m.copied = memoryCopy{}
		return
	}
	m.copied = memoryCopy{access: accessOf(r), steadyUntil: start + r.AccessLeft - m.c.margin(r.AccessTTL),
		wallUntil: m.clock.Wall().Add(r.AccessLeft - m.c.margin(r.AccessTTL) - (now - start))}
}

// over reports whether the holder of r's lease is gone: by the store's clock, by ours (rule G2), or because its
// liveness lock is free (rule L2). byUs: one of the latter two.
func (m *Manager) over(r Row) (over, byUs bool) {
	if r.LeaseLeft <= 0 {
		return true, false
	}
	now := m.clock.Steady()
	m.mu.Lock()
	w := m.lease
	m.mu.Unlock()
	if w.incarnation == r.Incarnation && w.fence == r.Fence && w.phase == r.Phase && now-w.since >= r.LeaseFor {
		return true, true
	}
	if r.HasLock && m.cfg.Liveness != nil && r.Owner.ID != m.owner.ID && m.cfg.Liveness.Gone(m.key) {
		return true, true
	}
	return false, false
}

// usable reports whether a call may start with r's pair now (rules B3, B4): it is live, no rotation is in progress,
// and its hand-over is not due; or it is due, but may not happen yet (rules D2, D4, F3), and the token has not
// expired.
func (m *Manager) usable(r Row, before seen) bool {
	if !m.alive(r, before) {
		return false
	}
	if r.AccessLeft > m.c.margin(r.AccessTTL) {
		return true
	}
	return r.waitFor(r.kind()) > 0
}

// lastUse is the least validity that a token needs after its hand-over.
const lastUse = time.Second

// alive reports whether r's pair can be used at all.
func (m *Manager) alive(r Row, before seen) bool {
	return r.State == Live && !r.Access.Empty() && !r.Phase.Sent() && r.AccessLeft > lastUse && !r.rolledBack(before)
}

// kind is the rotation that r's pair needs (rule C3).
func (r Row) kind() Kind {
	if r.State != Live || r.Refresh.Empty() || r.RefreshLeft < 5*time.Second {
		return ByLogin
	}
	return ByRefresh
}

// waitFor is how long all processes must wait for a kind of rotation.
func (r Row) waitFor(k Kind) time.Duration {
	if k == ByRefresh {
		return r.RefreshWait
	}
	return r.LoginWait
}

// note adds to the shared history; a failure is only logged.
func (m *Manager) note(ctx context.Context, e Event) {
	e.Owner = m.owner
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	m.log.Info("session: "+string(e.Kind), "outcome", e.Outcome, "reason", e.Reason, "gen", e.Gen, "fence", e.Fence,
		"took", e.Took, "detail", e.Detail)
	if err := m.store.Log(ctx, m.key, e); err != nil {
		m.log.Warn("session: an event is not in the history", "err", err)
	}
}
