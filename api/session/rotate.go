package session

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"opdeck/api/limit"
	"opdeck/api/reach"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
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
	instead := r.kind == ByRefresh && a.outcome == Unknown && a.status != 0         // it was answered: a login comes next
	if permanent || r.why.force && !(instead && rel.LoginWait == 0) {
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
		Said: a.fault.Said, Class: a.fault.Class, Status: a.status}
	if a.outcome == TwoFactor {
		b.Reason = BlockTwoFactor
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
		a.assumed.Access = false
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
		Left: r.row.AccessLeft, Status: a.status, Served: a.served, Detail: a.detail, Fault: a.fault, Assumed: a.assumed,
		Session: r.row.Incarnation})
}

// soonRefresh is the longest wait for a refresh slot after the access token has expired; beyond it a login is quicker
// (rule F3).
const soonRefresh = 5 * time.Second

// plan returns the kind of rotation that row needs and how long all processes must wait for it.
func (m *Manager) plan(row Row, before seen, why cause) (Kind, time.Duration) {
	kind := row.kind()
	if why.login || (why.doubt && row.Gen == why.gen && row.Incarnation == why.incarnation) || row.rolledBack(before) ||
		row.Phase.Sent() {
		kind = ByLogin
	}
	if kind == ByRefresh && row.RefreshWait > soonRefresh && row.AccessLeft <= lastUse {
		kind = ByLogin
	}
	return kind, row.waitFor(kind)
}

// attempt makes one try at the lease and, with it, one rotation. nil means that the caller must read the row again.
func (m *Manager) attempt(ctx context.Context, row Row, before seen, why cause, byUs bool) error {
	kind, wait := m.plan(row, before, why)
	if wait > 0 && !why.doubt {
		if why.force {
			class, _ := kind.Marks()
			return m.refused(ctx, class, wait)
		}
		wait += time.Duration(m.cfg.Random() * float64(m.c.PollMax)) // so that not all processes try at once
		if sleep(ctx, wait) != nil {
			return errAbandoned
		}
		return nil
	}
	r := &rotation{m: m, why: why, kind: kind}
	judged := why.premature && len(m.witnesses.all()) > 0
	if kind == ByLogin && (wait == 0 || !why.doubt) && !judged {
		if err := r.readyToLogin(ctx, row, m.c.AuthDeadline); err != nil {
			if !why.doubt {
				return err
			}
			r.after = err // the doubt is recorded all the same
		}
	}
	release, locked := hold(m.cfg.Liveness, m.key)
	defer release()
	rolled := row.rolledBack(before)
	claim := Claim{Incarnation: row.Incarnation, Gen: row.Gen, Fence: row.Fence, Owner: m.owner, HasLock: locked,
		For: m.c.LeaseHeld, Over: byUs, Doubt: why.doubt && !judged || rolled, Renew: rolled}
	if why.premature && !judged {
		claim.Premature = &Premature{Gen: row.Gen, Lived: row.Age, Used: true}
	}
	got, ok, err := m.acquire(ctx, claim)
	if err != nil {
		return storeError(err)
	}
	if !ok {
		if sleep(ctx, time.Duration(m.cfg.Random()*float64(m.c.PollFirst))) != nil {
			return errAbandoned
		}
		return nil
	}
	m.noteClaim(ctx, row, got, why, rolled)
	m.crash("held")
	r.row = got
	if judged && got.State == Live {
		if dead, err := r.judge(ctx, claim); !dead {
			return err
		}
	} else if why.premature {
		r.notePremature(ctx, judgement{})
	}
	return r.underLease(ctx)
}

// judge checks whether the pair that a route refused is dead. If it is, judge claims the lease again with the doubt;
// else it releases the lease.
func (r *rotation) judge(ctx context.Context, claim Claim) (dead bool, err error) {
	m, why := r.m, r.why
	j := m.witnesses.judge(ctx, r.row, why.route)
	switch {
	case j.alive:
		mark := RouteMark{Route: why.route, Refused: true, Gen: r.row.Gen, By: j.by}
		err := m.store.MarkRoute(ctx, m.key, r.row.Incarnation, mark)
		r.release(ctx, Release{})
		if err != nil {
			return false, storeError(err)
		}
		m.note(ctx, Event{Kind: EventRoute, Reason: RouteOnly, Route: why.route, By: j.by, Known: true, Gen: r.row.Gen,
			Fence: r.row.Fence, Session: r.row.Incarnation, Age: r.row.Age, Left: r.row.AccessLeft})
		return false, nil
	case !j.dead:
		r.release(ctx, Release{})
		return false, &Error{Kind: Unauthorized, Public: "the service refuses this call (401), and no other call could " +
			"show whether the session has ended"}
	}
	claim.Gen, claim.Fence, claim.Incarnation = r.row.Gen, r.row.Fence, r.row.Incarnation
	claim.Over, claim.Doubt, claim.Renew = true, true, false
	claim.Premature = &Premature{Gen: r.row.Gen, Lived: r.row.Age, Used: j.accepted}
	got, ok, err := m.acquire(ctx, claim)
	if err != nil {
		return false, storeError(err)
	}
	if ok {
		r.row = got
		r.notePremature(ctx, j)
	}
	return ok, nil
}

func (r *rotation) notePremature(ctx context.Context, j judgement) {
	row := r.row
	r.m.note(ctx, Event{Kind: EventPremature, Reason: string(row.From), Route: r.why.route, By: j.by, Known: j.accepted,
		Gen: row.Gen, Fence: row.Fence, Session: row.Incarnation, Age: row.Age, Left: row.AccessLeft})
}

// hold takes the liveness lock of a key, if the store has one.
func hold(l Liveness, key Key) (release func(), ok bool) {
	if l != nil {
		if release, ok = l.Hold(key); ok {
			return release, true
		}
	}
	return func() {}, false
}

func (m *Manager) acquire(ctx context.Context, c Claim) (Row, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, m.c.LeaseHeld)
	defer cancel()
	start := m.clock.Steady()
	row, ok, err := m.store.Acquire(ctx, m.key, c)
	if err == nil {
		m.saw(row, start)
	}
	return row, ok, err
}

// noteClaim records in the history what the claim found.
func (m *Manager) noteClaim(ctx context.Context, was, got Row, why cause, rolled bool) {
	e := Event{Gen: was.Gen, Fence: got.Fence, Session: got.Incarnation, Age: was.Age, Left: was.AccessLeft}
	if was.Phase != Free {
		e.Kind, e.Reason, e.Detail = EventTakeover, string(was.Phase), was.Owner.Host
		m.note(ctx, e)
	}
	if rolled || got.Origin != Own {
		e.Kind, e.Reason, e.Detail = EventRollback, string(got.Origin), ""
		m.note(ctx, e)
	}
}

// readyToLogin fetches the password and refuses one that the service has refused
// (rule D6).
func (r *rotation) readyToLogin(ctx context.Context, row Row, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	password, err := r.m.cfg.Password(ctx)
	if err != nil || password.Empty() {
		if err == nil {
			err = errors.New("it is empty")
		}
		return r.m.noPassword(ctx, row, err)
	}
	r.password, r.fingerprint = password, fingerprint(row.Pepper, r.m.key.BaseURL, r.m.key.Account, password.Reveal())
	return r.blockedBy(row)
}

// passwordNoted is the least time between two notes of this process that it cannot read the password.
const passwordNoted = time.Minute

// noPassword is the error of a login without a password. The history says so for all processes.
func (m *Manager) noPassword(ctx context.Context, row Row, err error) *Error {
	out := &Error{Kind: NoPassword, Public: "the password of the machine account is not available", Err: err,
		Fault: reach.Fault{Class: reach.NoPassword, Said: untrusted.Text(err.Error()).Line(maxSaid)}}
	now := m.clock.Steady()
	m.mu.Lock()
	again := m.unread != 0 && now-m.unread < passwordNoted
	if !again {
		m.unread = now
	}
	m.mu.Unlock()
	if !again {
		m.note(ctx, Event{Kind: EventLogin, Outcome: NotSent, Fault: out.Fault, Gen: row.Gen, Fence: row.Fence,
			Session: row.Incarnation})
	}
	return out
}

// maxSaid bounds the reason why a password is not available, in characters.
const maxSaid = 400

// blockedBy returns the error of a block that keeps the current password from being tried, or of a login whose answer
// could not be read; nil for none. A login that a person asks for is sent in spite of the latter.
func (r *rotation) blockedBy(row Row) error {
	reading := r.m.reading(row)
	for _, b := range row.Blocks {
		switch {
		case b.Reason == BlockUnreadable && (b.Fingerprint != reading || r.why.login):
			continue
		case b.Reason != BlockUnreadable && b.Fingerprint != r.fingerprint:
			continue
		case b.Reason != BlockUnreadable:
			r.tries = b.Tries
		}
		if left, blocked := row.holds(b); blocked {
			e := blockedError(b)
			e.RetryAfter = left
			return e
		}
	}
	return nil
}

// How long a refused credential is not tried again (rule D6).
const (
	confirmAfter = time.Minute
	reprobeAfter = time.Hour
)

// RereadAfter is how long a login whose answer could not be read is not repeated.
const RereadAfter = 5 * time.Minute

// holds reports whether b still blocks a login; left is 0 if the block does not expire.
func (r Row) holds(b Block) (left time.Duration, blocked bool) {
	after := confirmAfter
	switch {
	case b.Reason == BlockUnreadable && r.Gen > 0 && r.From == ByLogin && r.Age < b.Ago: // a later login was read
		return 0, false
	case b.Reason == BlockUnreadable:
		after = RereadAfter
	case b.Reason == BlockTwoFactor:
		after = reprobeAfter
	case b.Tries >= 2:
		return 0, true
	}
	return max(0, after-b.Ago), b.Ago < after
}

// fingerprint identifies secrets, such as a password with its account, without revealing them.
func fingerprint(pepper secret.Value, of ...string) string {
	mac := hmac.New(sha256.New, []byte(pepper.Reveal()))
	for _, s := range of {
		mac.Write([]byte(s))
		mac.Write([]byte{0})
	}
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// reading identifies how this process reads the answer to a login: another program or config may read it better.
func (m *Manager) reading(row Row) string {
	return fingerprint(row.Pepper, "reading", m.owner.Version, m.cfg.Settings, fmt.Sprintf("%q", m.cfg.Names))
}

// spacing is how long a login must wait after a premature revocation, counted from the pair's installation (rule E4):
// the first two within ten minutes not at all, the third 10 s, further ones 30 s.
func (r Row) spacing() time.Duration {
	recent := 0
	for _, p := range r.Premature {
		if p.Ago < 10*time.Minute {
			recent++
		}
	}
	gap := time.Duration(0)
	switch {
	case recent == 3:
		gap = 10 * time.Second
	case recent > 3:
		gap = 30 * time.Second
	}
	return max(0, gap-r.Age)
}

// leastLearnt is the shortest lifetime that is plausible: below it the budgets cannot keep a session alive, and the
// fault is another one.
const leastLearnt = 10 * time.Second

// learnt is the actual lifetime of access tokens if the last two pairs died at nearly the same age, below the
// announced one (rule E6); else 0.
func (r Row) learnt() time.Duration {
	n := len(r.Premature)
	if n < 2 || r.Premature[n-2].Ago > 24*time.Hour {
		return 0
	}
	a, b := r.Premature[n-2], r.Premature[n-1]
	if b.Gen != a.Gen+1 || !a.Used || !b.Used || a.Lived < leastLearnt ||
		(a.Lived-b.Lived).Abs() > max(a.Lived, b.Lived)/10 {
		return 0
	}
	return min(a.Lived, b.Lived)
}

// Outcome is the result of a rotation (rules D1–D7).
type Outcome string

// The outcomes.
const (
	OK         Outcome = "ok"         // D1: a new pair is installed
	NotSent    Outcome = "not_sent"   // D2: provably not sent
	Unknown    Outcome = "unknown"    // D3: may have been processed
	Throttled  Outcome = "throttled"  // D4: 429
	Refused    Outcome = "refused"    // D6, D7: the service said no
	Unreadable Outcome = "unreadable" // a login that may have succeeded: a good status, and no pair that can be read
	TwoFactor  Outcome = "two_factor" // D6: the service requires a TOTP code
	Fenced     Outcome = "fenced"     // C7: successful, but another process has the lease by now
	NoSlot     Outcome = "no_slot"    // F3, F4: no room in the budget of logins or refreshes
	Aborted    Outcome = "aborted"    // stopped before anything was sent
)
