package session

import (
	"context"
	"errors"
	"time"

	"opdeck/api/limit"
	"opdeck/api/reach"
	"opdeck/api/secret"
)

// rotation is one run under the lease: a refresh, a login, or a refused refresh and then a login (rule C8).
type rotation struct {
	m    *Manager
	why  cause
	kind Kind
	row  Row // when the lease was acquired

	password    secret.Value
	fingerprint string
	tries       int           // refusals of this password so far
	after       error         // returned after the lease is released
	refreshWait time.Duration // there was no refresh slot, so a login was tried instead
	doubt       bool          // the service has refused the refresh token: the pair is dead
}

// underLease decides again, under the lease, what to do, and does it.
func (r *rotation) underLease(ctx context.Context) error {
	kind, wait := r.m.plan(r.row, seen{}, r.why)
	if r.kind == ByLogin {
		kind = ByLogin
		wait = r.row.LoginWait
	}
	r.kind = kind
	if r.why.premature {
		wait = max(wait, r.row.spacing())
	}
	if r.after != nil || wait > 0 {
		rel := Release{}
		if kind == ByLogin {
			rel.LoginWait = wait
		}
		r.release(ctx, rel)
		return r.after
	}
	if kind == ByLogin { // the row may be older than a refusal
		err := r.blockedBy(r.row)
		if r.password.Empty() {
			err = r.readyToLogin(ctx, r.row, r.m.c.LeaseHeld/2)
		}
		if err != nil {
			r.release(ctx, Release{})
			return err
		}
	}
	if kind == ByRefresh && r.m.c.QuietGap > 0 {
		if sleep(ctx, r.m.c.QuietGap) != nil {
			r.release(ctx, Release{})
			return errAbandoned
		}
	}
	if ctx.Err() != nil {
		r.release(ctx, Release{})
		return errAbandoned
	}
	return r.run(context.WithoutCancel(ctx))
}

// run marks and sends a request and applies its outcome, once or (rule C8) twice. ctx has no end: what was announced
// is completed (rules C5, C9).
func (r *rotation) run(ctx context.Context) error {
	for {
		class := limit.Login
		if r.kind == ByRefresh {
			class = limit.Refresh
		}
		marked := r.m.clock.Steady()
		wait, err := r.mark(ctx, class)
		switch {
		case errors.Is(err, ErrFenced):
			return nil
		case err != nil:
			r.release(ctx, Release{}) // perhaps not announced: do not send (rule A8)
			return storeError(err)
		case wait > 0:
			again, err := r.noSlot(ctx, class, wait)
			if again {
				continue
			}
			return err
		}
		r.m.crash("marked")
		if r.m.clock.Steady()-marked > r.m.c.LeaseSent-r.m.c.AuthDeadline {
			r.note(ctx, answer{outcome: Aborted, detail: "this process was paused"}, 0, r.row.Gen)
			r.release(ctx, Release{State: r.state(), Unsent: r.kind}) // provably not sent
			return nil
		}
		again, err := r.exchange(ctx, class)
		if !again {
			return err
		}
	}
}

func (r *rotation) mark(ctx context.Context, class limit.Class) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, r.m.c.LeaseHeld)
	defer cancel()
	return r.m.store.Mark(ctx, r.m.key, Mark{Incarnation: r.row.Incarnation, Fence: r.row.Fence, Owner: r.m.owner.ID,
		Kind: r.kind, For: r.m.c.LeaseSent, Rule: r.m.limits.Rule(class)})
}

// noSlot handles an exhausted budget (rule F3). again: continue with the other kind.
func (r *rotation) noSlot(ctx context.Context, class limit.Class, wait time.Duration) (again bool, err error) {
	m := r.m
	if r.kind == ByRefresh && r.row.AccessLeft <= lastUse && wait > soonRefresh {
		if err := r.readyToLogin(ctx, r.row, m.c.LeaseHeld/2); err == nil {
			r.kind, r.refreshWait = ByLogin, wait
			return true, nil
		}
	}
	r.note(ctx, answer{outcome: NoSlot}, 0, r.row.Gen)
	r.release(ctx, r.waiting(wait))
	if r.why.force {
		return false, &limit.Exhausted{Class: class, RetryAfter: wait}
	}
	return false, nil
}

// waiting is the release that makes all processes wait with r's kind of rotation.
func (r *rotation) waiting(d time.Duration) Release {
	rel := Release{State: r.state()}
	if r.kind == ByLogin {
		rel.LoginWait, rel.RefreshWait = d, r.refreshWait
	} else {
		rel.RefreshWait = d
	}
	return rel
}

// state is the pair's state after a release without worse news.
func (r *rotation) state() PairState {
	if r.doubt {
		return Doubtful
	}
	return ""
}

// exchange sends the request and applies its outcome.
func (r *rotation) exchange(ctx context.Context, class limit.Class) (again bool, err error) {
	m := r.m
	sent := m.clock.Steady()
	sendCtx, cancel := context.WithTimeout(ctx, m.c.AuthDeadline)
	defer cancel()
	var a answer
	if r.kind == ByRefresh {
		a = m.auth.refresh(sendCtx, r.row.Refresh)
	} else {
		a = m.auth.login(sendCtx, m.key.Account, r.password)
	}
	m.crash("answered")
	a.hide(r.password)
	if a.outcome == OK && a.access.Equal(r.row.Access) {
		a.unread(request{kind: r.kind}, "it repeats the access token that was there before", "")
		a.fault = reach.Fault{Class: reach.Unreadable, Status: a.status, Said: a.seen}
	}
	took := m.clock.Steady() - sent
	if a.outcome == OK {
		return false, r.install(ctx, a, sent)
	}
	r.note(ctx, a, took, r.row.Gen)
	return r.failed(ctx, class, a)
}

// failed applies an outcome without a pair (rules D2 to D4, D6, D7).
func (r *rotation) failed(ctx context.Context, class limit.Class, a answer) (again bool, err error) {
	m := r.m
	var rel Release
	switch a.outcome {
	case NotSent:
		rel = r.waiting(backoff(r.row.Fails, m.cfg.Random))
		rel.Fail, rel.Unsent = true, r.kind
	case Throttled:
		rel = r.waiting(a.retryAfter)
		if err := m.limits.Note429(ctx, class, a.retryAfter); err != nil {
			m.log.Warn("session: a 429 is not noted for the others", "class", class, "err", err)
		}
	case Refused, TwoFactor:
		return r.refused(ctx, a)
	case Unreadable:
		return r.unreadable(ctx, a)
	default:
		rel = Release{State: Doubtful, LoginWait: a.retryAfter}
		if r.kind == ByLogin {
			rel.LoginWait, rel.Fail = max(a.retryAfter, backoff(r.row.Fails, m.cfg.Random)), true
		}
	}
	r.release(ctx, rel)
	permanent := a.fault.Permanent() && (r.kind == ByLogin || a.outcome == NotSent) // else the next step is a login
	if permanent || r.why.force {
		return false, m.notYet(ctx, max(rel.LoginWait, rel.RefreshWait))
	}
	return false, nil
}

// refused handles a refusal: after a refresh the same holder logs in (rule C8); after a login, or if a code is
// required, the credential is blocked.
func (r *rotation) refused(ctx context.Context, a answer) (again bool, err error) {
	m := r.m
	if r.kind == ByRefresh {
		r.doubt = a.outcome == Refused
		err := r.readyToLogin(ctx, r.row, m.c.LeaseSent-m.c.AuthDeadline-time.Second)
		if err != nil && (r.fingerprint == "" || a.outcome != TwoFactor) {
			r.release(ctx, Release{State: r.state(), Spent: true})
			return false, err
		}
		if a.outcome == Refused && a.retryAfter > 0 {
			r.release(ctx, Release{State: r.state(), LoginWait: a.retryAfter})
			return false, nil
		}
		if a.outcome == Refused {
			r.kind = ByLogin
			return true, nil
		}
	}
	b := Block{Fingerprint: r.fingerprint, Reason: BlockRefused, Tries: r.tries + 1,
		Said: a.said.words(r.password.Reveal()), Class: a.fault.Class}
	switch {
	case a.outcome == TwoFactor:
		b.Reason = BlockTwoFactor
	case a.unclear:
		b.Reason = BlockUnclear
	}
	r.release(ctx, Release{State: r.state(), Spent: r.kind == ByRefresh, Block: &b, Fail: true,
		LoginWait: a.retryAfter})
	m.note(ctx, Event{Kind: EventBlocked, Reason: b.Reason, Gen: r.row.Gen, Fence: r.row.Fence, Session: r.row.Incarnation,
		Status: a.status, Served: a.served, Fault: a.fault})
	e := blockedError(b)
	e.RetryAfter, _ = r.row.holds(b)
	return false, e
}

// unreadable keeps all processes from logging in again: each successful login ends all sessions, and its answer would
// be the same.
func (r *rotation) unreadable(ctx context.Context, a answer) (again bool, err error) {
	b := Block{Fingerprint: r.m.reading(r.row), Reason: BlockUnreadable, Tries: 1, Said: a.fault.Said,
		Class: reach.Unreadable, Status: a.status, Key: a.key}
	r.release(ctx, Release{State: Doubtful, Block: &b, Fail: true})
	r.m.note(ctx, Event{Kind: EventBlocked, Reason: b.Reason, Gen: r.row.Gen, Fence: r.row.Fence,
		Session: r.row.Incarnation, Status: a.status, Served: a.served, Fault: a.fault})
	e := blockedError(b)
	e.RetryAfter, _ = r.row.holds(b)
	return false, e
}

// backoff is 1, 2, 4 … 60 s with ±50 % jitter, after fails consecutive failures.
func backoff(fails int, random func() float64) time.Duration {
	d := min(time.Second<<min(max(fails, 0), 6), time.Minute)
	return time.Duration(float64(d) * (0.5 + random()))
}

// installFor bounds the retries to store a new pair while the store is unavailable (rule K2); by then the lease has
// expired and others have logged in.
const installFor = time.Minute

// install stores the new pair, and retries until it succeeds or is fenced.
func (r *rotation) install(ctx context.Context, a answer, sent time.Duration) error {
	m := r.m
	took := m.clock.Steady() - sent
	life := a.accessTTL
	if l := r.row.learnt(); l > 0 && l < life {
		life, a.detail = l, "tokens expire earlier than announced; opdeck uses the real age"
	}
	in := Install{Incarnation: r.row.Incarnation, Fence: r.row.Fence, Kind: r.kind, Access: a.access, Refresh: a.refresh,
		AccessTTL: life, RefreshTTL: a.refreshTTL, By: m.owner}
	pause := 50 * time.Millisecond
	for {
		in.Elapsed = m.clock.Steady() - sent
		start := m.clock.Steady()
		tryCtx, cancel := context.WithTimeout(ctx, m.c.LeaseHeld)
		row, err := m.store.Install(tryCtx, m.key, in)
		cancel()
		switch {
		case err == nil:
			m.crash("installed")
			m.saw(row, start)
			if a.warning != "" {
				a.detail = a.warning
			}
			r.note(ctx, a, took, row.Gen)
			return nil
		case errors.Is(err, ErrFenced):
			a.outcome = Fenced
			r.note(ctx, a, took, r.row.Gen)
			return nil
		case in.Elapsed > installFor:
			return storeError(err)
		}
		m.log.Warn("session: a new pair is not stored yet", "err", err)
		if err := sleep(ctx, pause); err != nil {
			return storeError(err)
		}
		pause = min(2*pause, time.Second)
	}
}

// release returns the lease. If the store does not answer, the lease expires and a SENT pair becomes doubtful: safe,
// at the price of a login. A block, which is to prevent that login, is tried as long as a new pair.
func (r *rotation) release(ctx context.Context, rel Release) {
	rel.Incarnation, rel.Fence = r.row.Incarnation, r.row.Fence
	ctx = context.WithoutCancel(ctx)
	start := r.m.clock.Steady()
	for pause := 20 * time.Millisecond; ; pause = min(3*pause, time.Second) {
		tryCtx, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := r.m.store.Release(tryCtx, r.m.key, rel)
		cancel()
		over := pause > 200*time.Millisecond
		if rel.Block != nil {
			over = r.m.clock.Steady()-start > installFor
		}
		if err == nil || errors.Is(err, ErrFenced) || over {
			if err != nil {
				r.m.log.Warn("session: the lease was not given back", "err", err)
			}
			return
		}
		_ = sleep(ctx, pause)
	}
}

// note writes the rotation to the history.
func (r *rotation) note(ctx context.Context, a answer, took time.Duration, gen int64) {
	kind := EventLogin
	if r.kind == ByRefresh {
		kind = EventRefresh
	}
	r.m.note(ctx, Event{Kind: kind, Outcome: a.outcome, Reason: r.why.reason, Took: took, Fence: r.row.Fence, Gen: gen,
		Age:  r.row.Age,
		Left: r.row.AccessLeft, Status: a.status, Served: a.served, Detail: a.detail, Fault: a.fault,
		Session: r.row.Incarnation})
}
