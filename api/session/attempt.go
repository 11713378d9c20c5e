package session

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"opdeck/api/reach"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

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
			return m.notYet(ctx, wait)
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
