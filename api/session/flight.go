package session

import (
	"context"
	"errors"
	"time"

	"opdeck/api/limit"
)

func sleep(ctx context.Context, d time.Duration) error { return limit.Sleep(ctx, d) }

// cause is why somebody wants a rotation.
type cause struct {
	reason string
	// incarnation and gen of the pair it is about: a row with another pair has
	// settled the matter.
	incarnation string
	gen         int64
	// doubt: the service refused the pair; premature: before its time.
	doubt, premature bool
	// force asks for a rotation although the pair is good; login for a login.
	force, login bool
}

// Reasons of rotations, as the history shows them.
const (
	reasonFirst    = "no_pair"
	reasonDoubtful = "pair_in_doubt"
	reasonDue      = "due"
	reasonLapsed   = "refresh_token_lapsed"
	reasonGone     = "holder_gone"
	reasonRollback = "store_went_back"
	reasonRefused  = "token_refused"
	reasonAsked    = "asked_for"
)

// need is the cause of a call that finds no usable pair.
func need(r Row, before seen) cause {
	c := cause{incarnation: r.Incarnation, gen: r.Gen, reason: reasonDue}
	switch {
	case r.rolledBack(before):
		c.reason = reasonRollback
	case r.State == None:
		c.reason = reasonFirst
	case r.Phase.Sent():
		c.reason = reasonGone
	case r.State == Doubtful:
		c.reason = reasonDoubtful
	case r.kind() == ByLogin:
		c.reason = reasonLapsed
	}
	return c
}

// refused is the cause of a call whose pair got a 401.
func refused(r Row, a Access, premature bool) cause {
	return cause{reason: reasonRefused, incarnation: a.Incarnation, gen: a.Gen, doubt: true, premature: premature}
}

// flight is the one rotation attempt, or wait for somebody else's, that all
// callers of this process share (rule C5). It ends after one attempt, or as soon
// as nothing more is to be done.
type flight struct {
	done    chan struct{}
	err     error // set before done is closed
	callers int   // guarded by Manager.mu
	cancel  context.CancelFunc
}

// leaveNow ends the waiting part of a flight; a request on its way goes on.
func (f *flight) leaveNow() { f.cancel() }

// errGone says that a flight ended because its callers had left.
var errGone = errors.New("session: nobody waits any more")

// await joins or starts a flight and waits for its end or ctx's. nil means: look
// at the row again.
func (m *Manager) await(ctx context.Context, why cause) error {
	if err := ctx.Err(); err != nil {
		return timedOut(err, "before the session was ready")
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return &Error{Kind: Closed, Public: "the session is closed"}
	}
	f := m.flight
	if f == nil {
		f = m.takeOff(ctx, why)
	}
	f.callers++
	m.mu.Unlock()
	select {
	case <-f.done:
		m.mu.Lock()
		f.callers--
		m.mu.Unlock()
		if errors.Is(f.err, errGone) {
			return nil
		}
		return f.err
	case <-ctx.Done():
	}
	m.mu.Lock()
	if f.callers--; f.callers == 0 {
		f.leaveNow()
	}
	m.mu.Unlock()
	return timedOut(ctx.Err(), "waiting for a login or refresh"+m.because(ctx))
}

// takeOff starts a flight; m.mu is held. The flight keeps the starter's values
// but not its end: it is everybody's.
func (m *Manager) takeOff(ctx context.Context, why cause) *flight {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{done: make(chan struct{}), cancel: cancel}
	m.flight = f
	m.busy.Add(1)
	go func() {
		defer m.busy.Done()
		defer cancel()
		err := m.fly(ctx, why)
		if err != nil && ctx.Err() != nil {
			err = errGone
		}
		m.mu.Lock()
		f.err = err
		m.flight = nil
		m.mu.Unlock()
		close(f.done)
	}()
	return f
}

// fly waits while somebody else rotates, then makes one attempt if it is still
// needed.
func (m *Manager) fly(ctx context.Context, why cause) error {
	poll := m.c.PollFirst
	bell, listening := m.store.(Bell)
	var changed <-chan struct{}
	for {
		row, before, err := m.load(ctx)
		if err != nil {
			return storeError(err)
		}
		if m.settled(row, before, why) {
			return nil
		}
		over, byUs := false, false
		if row.Phase != Free {
			over, byUs = m.over(row)
		}
		if row.Phase == Free || over {
			return m.attempt(ctx, row, before, why, byUs)
		}
		if listening {
			var stop func()
			changed, stop = bell.Changed(m.key)
			defer stop()
			listening = false // once is enough
		}
		if nap(ctx, time.Duration(float64(poll)*(0.75+m.cfg.Random()/2)), changed) != nil {
			return errGone
		}
		poll = min(poll*3/2, m.c.PollMax)
	}
}

// nap sleeps for d, less if something changed.
func nap(ctx context.Context, d time.Duration, changed <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settled reports whether the row has what the cause asks for.
func (m *Manager) settled(r Row, before seen, why cause) bool {
	same := r.Incarnation == why.incarnation && r.Gen == why.gen
	switch {
	case why.force:
		return !same
	case why.doubt:
		return !same || r.State != Live
	}
	return m.usable(r, before)
}
