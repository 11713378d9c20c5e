package session

import (
	"context"
	"errors"
	"time"
)

// Refresh renews the pair now, with a refresh if possible, else with a login. It returns nil as soon as any process
// has replaced the pair that it found.
func (m *Manager) Refresh(ctx context.Context) error { return m.force(ctx, false) }

// Login replaces the pair now with a login.
func (m *Manager) Login(ctx context.Context) error { return m.force(ctx, true) }

func (m *Manager) force(ctx context.Context, login bool) error {
	m.beat(ctx)
	first, _, err := m.load(ctx)
	if err != nil {
		return storeError(err)
	}
	why := cause{reason: reasonAsked, incarnation: first.Incarnation, gen: first.Gen, force: true, login: login}
	for {
		if err := m.await(ctx, why); err != nil {
			return err
		}
		row, before, err := m.load(ctx)
		if err != nil {
			return storeError(err)
		}
		if m.settled(row, before, why) {
			return nil
		}
	}
}

// Reset clears the pair, back-off and refused credentials, under the lease (rule C10); the next call logs in. It
// sends nothing to the service, which has no logout.
func (m *Manager) Reset(ctx context.Context) error {
	m.beat(ctx)
	poll := m.c.PollFirst
	for {
		row, _, err := m.load(ctx)
		if err != nil {
			return storeError(err)
		}
		over, byUs := row.Phase == Free, false
		if !over {
			over, byUs = m.over(row)
		}
		if over {
			done, err := m.reset(ctx, row, byUs)
			if err != nil || done {
				return err
			}
		}
		if err := sleep(ctx, poll); err != nil {
			return timedOut(err, "another process is refreshing the session")
		}
		poll = min(poll*3/2, m.c.PollMax)
	}
}

func (m *Manager) reset(ctx context.Context, row Row, byUs bool) (done bool, err error) {
	claim := Claim{Incarnation: row.Incarnation, Gen: row.Gen, Fence: row.Fence, Owner: m.owner, For: m.c.LeaseHeld,
		Over: byUs}
	got, ok, err := m.acquire(ctx, claim)
	if err != nil {
		return false, storeError(err)
	}
	if !ok {
		return false, nil
	}
	err = m.store.Release(ctx, m.key, Release{Incarnation: got.Incarnation, Fence: got.Fence, State: None, Clear: true})
	if errors.Is(err, ErrFenced) {
		return false, nil
	}
	if err != nil {
		return false, storeError(err)
	}
	m.note(ctx, Event{Kind: EventReset, Gen: got.Gen, Fence: got.Fence, Session: got.Incarnation})
	return true, nil
}

// Keep keeps the session alive until ctx ends: it renews the pair when its hand-over is due, and retries after
// failures. It returns nil when ctx ends, an *Error of kind Closed, or one that wraps ErrStoreLost. It sleeps between
// two actions, 30 s at most.
func (m *Manager) Keep(ctx context.Context) error {
	for {
		m.beat(ctx)
		wait, err := m.keepOnce(ctx)
		if err != nil {
			return err
		}
		if m.isClosed() {
			return &Error{Kind: Closed, Public: "the session is closed"}
		}
		if sleep(ctx, wait) != nil {
			return nil
		}
	}
}

// keepOnce renews the pair if it is due and returns how long to wait before the next check. An error is permanent.
func (m *Manager) keepOnce(ctx context.Context) (time.Duration, error) {
	row, before, err := m.load(ctx)
	if err == nil && !m.usable(row, before) {
		err = m.await(ctx, need(row, before))
		if err == nil {
			return m.c.PollFirst, nil
		}
	}
	if errors.Is(err, ErrStoreLost) {
		return 0, storeError(err)
	}
	if err != nil {
		if ctx.Err() == nil {
			m.log.Warn("session: cannot be kept alive now", "err", err)
		}
		wait := beatEvery / 3
		var e *Error
		if errors.As(err, &e) && e.RetryAfter > 0 {
			wait = min(e.RetryAfter, beatEvery)
		}
		return wait, nil
	}
	if left := row.AccessLeft - m.c.margin(row.AccessTTL); left > 0 {
		return min(left, beatEvery), nil
	}
	return min(max(row.waitFor(row.kind()), m.c.PollMax), beatEvery), nil
}
