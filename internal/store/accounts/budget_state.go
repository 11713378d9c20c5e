package accounts

import (
	"context"
	"errors"
	"time"

	"opdeck/api/limit"
	"opdeck/internal/store"
)

// Throttle implements limit.Store.
func (s *Store) Throttle(ctx context.Context, key limit.Key, class limit.Class, wait time.Duration) error {
	return s.db.WriteUnsynced(ctx, func(tx *store.Tx) error {
		r, err := s.lockRing(ctx, tx, key, class)
		if err != nil {
			return err
		}
		now, err := s.clock.Time(ctx, tx)
		if err != nil {
			return err
		}
		until := max(min(r.notBefore, now+limit.MaxNotBefore), now+min(max(0, wait), limit.MaxNotBefore))
		if err := tx.Exec(ctx, "UPDATE limit_ring SET not_before_ns = ?"+ringWhere,
			append([]any{int64(until)}, r.args()...)...); err != nil {
			return err
		}
		if err := tx.Exec(ctx, "DELETE FROM limit_throttle"+ringWhere+" AND (at_ns <= ? OR at_ns > ?)",
			r.args(int64(now-limit.ThrottleRetention), int64(now+limit.MaxAhead))...); err != nil {
			return err
		}
		return tx.Exec(ctx, "INSERT INTO limit_throttle (base_url, account, class, at_ns) VALUES (?, ?, ?, ?)",
			r.args(int64(now))...)
	})
}

// State implements limit.Store.
func (s *Store) State(ctx context.Context, key limit.Key) (map[limit.Class]limit.State, error) {
	now, err := s.clock.Time(ctx, s.db)
	if err != nil {
		return nil, err
	}
	out, impossible, err := s.readState(ctx, s.db, key, now)
	if err != nil || !impossible {
		return out, err
	}
	err = s.db.WriteUnsynced(ctx, func(tx *store.Tx) error {
		if err := s.cut(ctx, tx, key, now); err != nil {
			return err
		}
		out, _, err = s.readState(ctx, tx, key, now)
		return err
	})
	return out, err
}

// cut removes implausible future times (rule G3).
func (s *Store) cut(ctx context.Context, tx *store.Tx, key limit.Key, now time.Duration) error {
	const where = " WHERE base_url = ? AND account = ? AND "
	ahead := int64(now + limit.MaxAhead)
	err1 := tx.Exec(ctx, "DELETE FROM limit_slot"+where+"at_ns > ?", key.BaseURL, key.Account, ahead)
	err2 := tx.Exec(ctx, "DELETE FROM limit_throttle"+where+"at_ns > ?", key.BaseURL, key.Account, ahead)
	most := int64(now + limit.MaxNotBefore)
	err3 := tx.Exec(ctx, "UPDATE limit_ring SET not_before_ns = ?"+where+"not_before_ns > ?", most, key.BaseURL,
		key.Account, most)
	return errors.Join(err1, err2, err3)
}

// readState returns the state of all classes, without implausible future times, and reports whether there were any.
func (s *Store) readState(ctx context.Context, q store.Querier, key limit.Key,
	now time.Duration) (map[limit.Class]limit.State, bool, error) {
	out := map[limit.Class]limit.State{}
	impossible := false
	const where = " WHERE base_url = ? AND account = ?"
	err := store.Each(ctx, q, func(scan store.Scan) error {
		var class limit.Class
		var at time.Duration
		if err := scan(&class, &at); err != nil {
			return err
		}
		impossible = impossible || at > now+limit.MaxNotBefore
		st := out[class]
		st.NotBefore = min(max(0, at-now), limit.MaxNotBefore)
		out[class] = st
		return nil
	}, "SELECT class, not_before_ns FROM limit_ring"+where, key.BaseURL, key.Account)
	if err != nil {
		return nil, false, err
	}
	err = store.Each(ctx, q, func(scan store.Scan) error {
		var class limit.Class
		var at time.Duration
		var background, over int
		var who string
		var us int64
		if err := scan(&class, &at, &background, &over, &who, &us); err != nil {
			return err
		}
		if at > now+limit.MaxAhead {
			impossible = true
			return nil
		}
		st := out[class]
		// Of a slot that was taken and used after now was read, now would say that its call still waits.
		st.Slots = append(st.Slots, limit.Slot{Ago: s.clock.Settle(us) - at, Background: background != 0,
			Over: over != 0, Who: who})
		out[class] = st
		return nil
	}, "SELECT class, at_ns, background, over, who, "+s.clock.Column()+" FROM limit_slot"+where+
		" AND at_ns > ? ORDER BY class, at_ns", key.BaseURL, key.Account, int64(now-limit.Retention))
	if err != nil {
		return nil, false, err
	}
	err = store.Each(ctx, q, func(scan store.Scan) error {
		var class limit.Class
		var at time.Duration
		if err := scan(&class, &at); err != nil {
			return err
		}
		if at > now+limit.MaxAhead {
			impossible = true
			return nil
		}
		st := out[class]
		st.Throttled = append(st.Throttled, max(0, now-at))
		out[class] = st
		return nil
	}, "SELECT class, at_ns FROM limit_throttle"+where+" AND at_ns > ? ORDER BY class, at_ns", key.BaseURL, key.Account,
		int64(now-limit.ThrottleRetention))
	return out, impossible, err
}
