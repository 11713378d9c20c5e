package session

import (
	"context"
	"errors"
	"time"

	"opdeck/api/limit"
)

func sleep(ctx context.Context, d time.Duration) error { return limit.Sleep(ctx, d) }

// cause is the reason for a rotation.
type cause struct {
	reason string
	// incarnation and gen of the pair concerned: a row with another pair has settled it.
	incarnation string
	gen         int64
	route       string // the route that refused it
	// doubt: the service refused the tokens; premature: before they expired.
	doubt, premature bool
	// force requires a rotation although the pair is good; login requires a login.
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

// need is the cause for a call that finds no usable pair.
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

// refused is the cause for a call whose pair got a 401.
func refused(a Access, route string, premature bool) cause {
	return cause{reason: reasonRefused, incarnation: a.Incarnation, gen: a.Gen, route: route, doubt: true,
		premature: premature}
}

// rotationWait is the one rotation attempt, or wait for another process's, that all callers of this process share
// (rule C5). It ends after one attempt, or once nothing is left to do.
type rotationWait struct {
	done    chan struct{}
	err     error              // set before done is closed
	callers int                // guarded by Manager.mu
	cancel  context.CancelFunc // ends the wait; a request already sent is completed
}

// errAbandoned: a rotationWait ended because all its callers left.
var errAbandoned = errors.New("session: no caller is waiting any more")

// await joins or starts a rotationWait and waits for its end or ctx's. nil means: read the row again.
func (m *Manager) await(ctx context.Context, why cause) error {
	if err := ctx.Err(); err != nil {
		return timedOut(err, "before the session was ready")
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return &Error{Kind: Closed, Public: "the session is closed"}
	}
	w := m.rotating
	if w == nil {
		w = m.startWait(ctx, why)
	}
	w.callers++
	m.mu.Unlock()
	select {
	case <-w.done:
		m.mu.Lock()
		w.callers--
		m.mu.Unlock()
		if errors.Is(w.err, errAbandoned) {
			return nil
		}
		return w.err
	case <-ctx.Done():
	}
	m.mu.Lock()
	if w.callers--; w.callers == 0 {
		w.cancel()
	}
	m.mu.Unlock()
	e := timedOut(ctx.Err(), "waiting for a login or refresh")
	e.Fault = m.fault(ctx)
	return e
}

// startWait starts a rotationWait; the caller holds m.mu. It keeps the values of ctx but not its end, since all
// callers share it.
func (m *Manager) startWait(ctx context.Context, why cause) *rotationWait {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &rotationWait{done: make(chan struct{}), cancel: cancel}
	m.rotating = w
	m.busy.Add(1)
	go func() {
		defer m.busy.Done()
		defer cancel()
		err := m.waitAndRotate(ctx, why)
		if err != nil && ctx.Err() != nil {
			err = errAbandoned
		}
		m.mu.Lock()
		w.err = err
		m.rotating = nil
		m.mu.Unlock()
		close(w.done)
	}()
	return w
}

// waitAndRotate waits while another process rotates, then makes one attempt if it is still needed.
func (m *Manager) waitAndRotate(ctx context.Context, why cause) error {
	poll := m.c.PollFirst
	notifier, listening := m.store.(ChangeNotifier)
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
			changed, stop = notifier.Changed(m.key)
			defer stop()
			listening = false // once is enough
		}
		if sleepUntilChanged(ctx, time.Duration(float64(poll)*(0.75+m.cfg.Random()/2)), changed) != nil {
			return errAbandoned
		}
		poll = min(poll*3/2, m.c.PollMax)
	}
}

// sleepUntilChanged sleeps for d, or until a value arrives on changed.
func sleepUntilChanged(ctx context.Context, d time.Duration, changed <-chan struct{}) error {
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

// settled reports whether the row has what the cause requires.
func (m *Manager) settled(r Row, before seen, why cause) bool {
	same := r.Incarnation == why.incarnation && r.Gen == why.gen
	switch {
	case why.force:
		return !same
	case why.doubt:
		_, refuses := r.refusedBy(why.route)
		return !same || r.State != Live || why.premature && refuses
	}
	return m.usable(r, before)
}
