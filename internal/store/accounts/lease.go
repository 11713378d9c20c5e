package accounts

import (
	"context"
	"slices"
	"time"

	"opdeck/api/limit"
	"opdeck/api/secret"
	"opdeck/api/session"
	"opdeck/internal/store"
	"opdeck/internal/store/liveness"
)

// repeats bounds the retries of a change whose commit got no answer.
const repeats = 3

// again runs do until its result is certain. After a lost answer to a commit it runs do again, which finds the change
// done (rule A8).
func again(do func(repeat bool) error) error {
	err := do(false)
	for range repeats {
		if !store.IsKind(err, store.Unknown) {
			return err
		}
		err = do(true)
	}
	return err
}

// Acquire implements session.Store.
func (s *Store) Acquire(ctx context.Context, key session.Key, c session.Claim) (row session.Row, won bool, err error) {
	err = again(func(repeat bool) error {
		won = false
		row, err = s.change(ctx, key, func(_ *store.Tx, rec *record) error {
			r := &rec.row
			if repeat && r.Fence == c.Fence+1 && r.Owner.ID == c.Owner.ID && r.Phase == session.Held {
				won = true // the commit with the lost answer succeeded
				return nil
			}
			if r.Incarnation != c.Incarnation || r.Gen != c.Gen || r.Fence != c.Fence {
				return nil
			}
			if r.Phase != session.Free && rec.leaseUntil > rec.now && !c.Over {
				return nil
			}
			won = true
			return s.grantLease(rec, c)
		})
		return err
	})
	return row, won && err == nil, err
}

// grantLease changes rec as Claim says. If a pair was used up although the row does not show it, the store was rolled
// back, and the row gets a new incarnation.
func (s *Store) grantLease(rec *record, c session.Claim) error {
	r := &rec.row
	sent := r.Phase.Sent()
	pair := current
	if r.State == session.Live && !sent {
		pair = s.spent.of(rec.key, r.Incarnation, r.Gen)
	}
	if (sent || c.Doubt || pair != current) && r.State == session.Live {
		r.State, rec.sealedRefresh = session.Doubtful, nil
	}
	if c.Premature != nil {
		rec.premature = lastN(append(rec.premature, prematureAt{*c.Premature, rec.now}), session.MaxPremature)
	}
	rec.row.Origin = map[age]session.Origin{older: session.Restored, copied: session.Copied}[pair]
	if c.Renew || pair != current {
		access, refresh := s.unseal(rec)
		if access.Empty() && r.State == session.Live {
			r.State = session.Doubtful
		}
		r.Incarnation = newIncarnation()
		s.put(rec, access, refresh)
		if err := s.spent.note(rec.key, r.Incarnation, r.Gen-1); err != nil {
			return err
		}
	}
	r.Fence++
	r.Phase, r.Owner, r.HasLock = session.Held, c.Owner, c.HasLock
	rec.lease(c.For)
	return nil
}

// lease starts or restarts the lease.
func (rec *record) lease(length time.Duration) {
	rec.row.LeaseFor, rec.leaseUntil, rec.leaseBoot = length, rec.now+length, rec.boot
	rec.changed = true
}

// Mark implements session.Store. A lost answer to the commit is an error: a request that may not be recorded is not
// sent (rule A8).
func (s *Store) Mark(ctx context.Context, key session.Key, m session.Mark) (wait time.Duration, err error) {
	class, phase := m.Kind.Marks()
	_, err = s.change(ctx, key, func(tx *store.Tx, rec *record) error {
		r := &rec.row
		if r.Incarnation != m.Incarnation || r.Fence != m.Fence || r.Owner.ID != m.Owner || r.Phase == session.Free ||
			rec.leaseUntil <= rec.now {
			return session.ErrFenced
		}
		if err := s.seal.InUse(ctx, tx); err != nil { // the answer would be sealed with a key that was given up
			return err
		}
		ring, err := s.lockRing(ctx, tx, key, class)
		if err != nil {
			return err
		}
		g, err := s.take(ctx, tx, ring, limit.Request{Class: class, Rule: m.Rule,
			As: session.SlotOf(m.Incarnation, m.Fence)}, rec.now)
		if err != nil {
			return err
		}
		if !g.Taken {
			wait = max(g.Wait, 1)
			return nil
		}
		r.Phase = phase
		rec.lease(m.For)
		return s.spent.note(key, r.Incarnation, r.Gen)
	})
	if err != nil {
		return 0, err
	}
	return wait, nil
}

// Install implements session.Store.
func (s *Store) Install(ctx context.Context, key session.Key, in session.Install) (row session.Row, err error) {
	fenced := false
	err = again(func(bool) error {
		fenced = false
		row, err = s.change(ctx, key, func(tx *store.Tx, rec *record) error {
			r := &rec.row
			switch {
			case r.Incarnation != in.Incarnation || r.Fence != in.Fence:
				fenced = true
				return nil
			case r.Phase == session.Free && r.State == session.Live && s.holds(rec, in.Access):
				return nil // done before
			case !r.Phase.Sent():
				fenced = true
				return nil
			}
			s.install(rec, in)
			return liveness.Notify(ctx, tx, keyID(key))
		})
		return err
	})
	if err == nil && fenced {
		err = session.ErrFenced
	}
	return row, err
}

// holds reports whether access is the stored token.
func (s *Store) holds(rec *record, access secret.Value) bool {
	have, _ := s.unseal(rec)
	return !access.Empty() && have.Equal(access)
}

func (s *Store) install(rec *record, in session.Install) {
	r := &rec.row
	r.Gen++
	r.State, r.Phase, r.Fails, r.HasLock = session.Live, session.Free, 0, false
	r.AccessTTL, r.RefreshTTL = in.AccessTTL, in.RefreshTTL
	rec.accessUntil, rec.refreshUntil = rec.now+in.AccessTTL-in.Elapsed, rec.now+in.RefreshTTL-in.Elapsed
	rec.installed, r.From, r.By = rec.now, in.Kind, in.By
	rec.loginFrom, rec.refreshFrom = 0, rec.now+min(in.RefreshWait, session.MaxBackoff)
	rec.leaseUntil = 0
	s.put(rec, in.Access, in.Refresh)
	rec.changed = true
}

// Release implements session.Store.
func (s *Store) Release(ctx context.Context, key session.Key, rel session.Release) error {
	return again(func(repeat bool) error {
		_, err := s.change(ctx, key, func(tx *store.Tx, rec *record) error {
			r := &rec.row
			ours := r.Incarnation == rel.Incarnation && r.Fence == rel.Fence
			switch {
			case repeat && ours && r.Phase == session.Free:
				return nil // the commit with the lost answer succeeded
			case !ours || r.Phase == session.Free:
				return session.ErrFenced
			}
			if rel.State == "" && !rel.Spent && r.State == session.Live { // nothing was sent
				if err := s.spent.note(key, r.Incarnation, r.Gen-1); err != nil {
					return err
				}
			}
			if class, phase := rel.Unsent.Marks(); rel.Unsent != "" && r.Phase == phase {
				ring := ring{key: key, class: class}
				if err := tx.Exec(ctx, "DELETE FROM limit_slot"+ringWhere+" AND ticket = ?",
					ring.args(session.SlotOf(rel.Incarnation, rel.Fence))...); err != nil {
					return err
				}
			}
			rec.release(rel)
			return liveness.Notify(ctx, tx, keyID(key))
		})
		return err
	})
}

func (rec *record) release(rel session.Release) {
	r := &rec.row
	rec.changed = true
	r.Phase, r.HasLock, rec.leaseUntil = session.Free, false, 0
	if rel.Clear {
		r.Fails, rec.loginFrom, rec.refreshFrom, rec.premature, rec.blocks, rec.routes = 0, 0, 0, nil, nil, nil
	}
	if rel.Spent {
		rec.sealedRefresh = nil
	}
	switch rel.State {
	case session.Doubtful:
		if r.State != session.None {
			r.State = session.Doubtful
		}
		rec.sealedRefresh = nil
	case session.None:
		r.State, rec.sealedAccess, rec.sealedRefresh = session.None, nil, nil
	}
	if rel.LoginWait > 0 {
		rec.loginFrom = rec.now + min(rel.LoginWait, session.MaxBackoff)
	}
	if rel.RefreshWait > 0 {
		rec.refreshFrom = rec.now + min(rel.RefreshWait, session.MaxBackoff)
	}
	if rel.Fail {
		r.Fails++
	}
	if b := rel.Block; b != nil {
		rec.blocks = slices.DeleteFunc(rec.blocks, func(have blockAt) bool { return have.Fingerprint == b.Fingerprint })
		rec.blocks = lastN(append(rec.blocks, blockAt{*b, rec.now}), session.MaxBlocks)
	}
}

// Reseal gives up all that another key has sealed: the tokens of every account, and the fingerprints of refused
// passwords. From then on the key of s is the store's, and processes that use another one stop.
func (s *Store) Reseal(ctx context.Context, host string) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		keys, err := store.List(ctx, tx, func(scan store.Scan) (k session.Key, err error) {
			err = scan(&k.BaseURL, &k.Account)
			return k, err
		}, "SELECT base_url, account FROM session ORDER BY base_url, account"+tx.Engine().ForUpdate())
		if err != nil {
			return err
		}
		for _, key := range keys { // what is under way is of an earlier incarnation, and is not stored
			if err := tx.Exec(ctx, `UPDATE session SET incarnation = ?, pair_state = ?, phase = ?, lease_until_ns = 0,
				sealed_access = NULL, sealed_refresh = NULL, blocks = '[]'`+rowWhere,
				newIncarnation(), string(session.None), string(session.Free), key.BaseURL, key.Account); err != nil {
				return err
			}
		}
		return s.seal.Take(ctx, tx, host)
	})
}

// MarkRoute implements session.Store.
func (s *Store) MarkRoute(ctx context.Context, key session.Key, incarnation string, mark session.RouteMark) error {
	_, err := s.change(ctx, key, func(_ *store.Tx, rec *record) error {
		if rec.row.Incarnation != incarnation || rec.row.Gen != mark.Gen {
			return nil
		}
		rec.routes = session.AddRoute(rec.routes, routeAt{mark, rec.now}, func(r routeAt) session.RouteMark {
			return r.RouteMark
		})
		rec.changed = true
		return nil
	})
	return err
}

func lastN[T any](s []T, n int) []T { return slices.Clone(s[max(0, len(s)-n):]) }
