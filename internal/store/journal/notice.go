package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"opdeck/internal/domain/notify"
	"opdeck/internal/store"
)

// Notices stores the rules of [notify.NAME] and their notices in the core database. It implements notify.Store.
type Notices struct{ db *store.DB }

var _ notify.Store = (*Notices)(nil)

// NewNotices returns the notices of db.
func NewNotices(db *store.DB) *Notices { return &Notices{db: db} }

// Shared implements notify.Store.
func (s *Notices) Shared(ctx context.Context, scope string) (map[string]notify.Shared, time.Time, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, now, err
	}
	out := map[string]notify.Shared{}
	return out, now, store.Each(ctx, s.db, func(scan store.Scan) error {
		var name string
		var one notify.Shared
		err := scanRule(scan, &one, &name)
		out[name] = one
		return err
	}, "SELECT state, silence, name FROM notify_rule WHERE scope = ?", scope)
}

// scanRule scans state and silence, then more.
func scanRule(scan store.Scan, into *notify.Shared, more ...any) error {
	var state, silence []byte
	if err := scan(append([]any{&state, &silence}, more...)...); err != nil {
		return err
	}
	return errors.Join(json.Unmarshal(state, &into.State), json.Unmarshal(silence, &into.Silence))
}

// lockedRule reads a rule and excludes other transactions that do. A new rule is stored first.
func lockedRule(ctx context.Context, tx *store.Tx, scope, rule string) (one notify.Shared, err error) {
	err = tx.Exec(ctx, "INSERT INTO notify_rule (scope, name, state, silence) VALUES (?, ?, '{}', '{}') "+
		"ON CONFLICT (scope, name) DO NOTHING", scope, rule)
	if err != nil {
		return one, err
	}
	return one, scanRule(tx.QueryRow(ctx, "SELECT state, silence FROM notify_rule WHERE scope = ? AND name = ?"+
		tx.Engine().ForUpdate(), scope, rule).Scan, &one)
}

// Update implements notify.Store.
func (s *Notices) Update(ctx context.Context, scope, rule string,
	change func(notify.State, bool) (notify.State, []notify.Notice, bool)) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		known, err := lockedRule(ctx, tx, scope, rule)
		if err != nil {
			return err
		}
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		next, add, changed := change(known.State, known.Silence.Active(now))
		if !changed {
			return nil
		}
		state, err := encode(next)
		if err != nil {
			return err
		}
		if err := tx.Exec(ctx, "UPDATE notify_rule SET state = ? WHERE scope = ? AND name = ?", state, scope,
			rule); err != nil {
			return err
		}
		for _, n := range add {
			if err := addNotice(ctx, tx, scope, n, now); err != nil {
				return err
			}
		}
		return tx.Exec(ctx, "DELETE FROM notice WHERE ended_us > 0 AND ended_us < ?",
			now.Add(-notify.NoticesKept).UnixMicro())
	})
}

func addNotice(ctx context.Context, tx *store.Tx, scope string, n notify.Notice, now time.Time) error {
	body, err := encode(n)
	if err != nil {
		return err
	}
	phase, ended := notify.Waiting, int64(0)
	if n.Silenced {
		phase, ended = notify.Silenced, now.UnixMicro()
	}
	var seq int64
	if err := tx.QueryRow(ctx, "SELECT COALESCE(MAX(seq), 0) + 1 FROM notice WHERE scope = ? AND rule = ?", scope,
		n.Name).Scan(&seq); err != nil {
		return err
	}
	return tx.Exec(ctx, `INSERT INTO notice (scope, id, rule, phase, body, seq, ended_us)
VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (scope, id) DO NOTHING`,
		scope, n.ID, n.Name, string(phase), body, seq, ended)
}

// head is the oldest notice of a rule that is not ended.
type head struct {
	notice      notify.Notice
	phase       notify.Phase
	attempts    int
	next, until int64
}

// due reports whether it can be claimed. Times further ahead than they can be are of a clock that was set back.
func (h head) due(now time.Time) bool {
	at := now.UnixMicro()
	if h.phase == notify.Sending {
		return h.until <= at || h.until > now.Add(notify.Lease).UnixMicro()
	}
	return h.next <= at || h.next > now.Add(notify.RetryMost).UnixMicro()
}

func readHead(ctx context.Context, q store.Querier, scope, rule string) (h head, found bool, err error) {
	var body []byte
	err = q.QueryRow(ctx, `SELECT body, phase, attempts, next_us, until_us FROM notice
WHERE scope = ? AND rule = ? AND ended_us = 0 ORDER BY seq LIMIT 1`, scope, rule).Scan(&body, &h.phase,
		&h.attempts, &h.next, &h.until)
	if errors.Is(err, sql.ErrNoRows) {
		return h, false, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &h.notice)
	}
	return h, err == nil, err
}

// Claim implements notify.Store. It writes only if there is something to claim.
func (s *Notices) Claim(ctx context.Context, scope, rule, owner string) (d notify.Delivery, ok bool, err error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return d, false, err
	}
	if h, found, err := readHead(ctx, s.db, scope, rule); err != nil || !found || !h.due(now) {
		return d, false, err
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		ok = false
		known, err := lockedRule(ctx, tx, scope, rule)
		if err != nil {
			return err
		}
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		h, found, err := readHead(ctx, tx, scope, rule)
		if err != nil || !found || !h.due(now) {
			return err
		}
		if known.Silence.Active(now) {
			return tx.Exec(ctx, `UPDATE notice SET phase = ?, owner = '', ended_us = ?
WHERE scope = ? AND rule = ? AND ended_us = 0 AND (phase = ? OR until_us <= ?)`, string(notify.Silenced),
				now.UnixMicro(), scope, rule, string(notify.Waiting), now.UnixMicro())
		}
		d, ok = notify.Delivery{Notice: h.notice, Attempt: h.attempts + 1}, true
		return tx.Exec(ctx, "UPDATE notice SET phase = ?, owner = ?, attempts = ?, until_us = ? WHERE scope = ? AND id = ?",
			string(notify.Sending), owner, d.Attempt, now.Add(notify.Lease).UnixMicro(), scope, h.notice.ID)
	})
	return d, ok && err == nil, err
}

// Done implements notify.Store.
func (s *Notices) Done(ctx context.Context, scope, owner, id string, o notify.Outcome) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		phase, ended, next := notify.Sent, now.UnixMicro(), int64(0)
		switch {
		case !o.Delivered && o.Retry > 0:
			phase, ended, next = notify.Waiting, 0, now.Add(o.Retry).UnixMicro()
		case !o.Delivered:
			phase = notify.Failed
		}
		return tx.Exec(ctx, `UPDATE notice SET phase = ?, ended_us = ?, next_us = ?, error = ?, owner = ''
WHERE scope = ? AND id = ? AND owner = ? AND phase = ?`, string(phase), ended, next, o.Error, scope, id, owner,
			string(notify.Sending))
	})
}

// Silence implements notify.Store.
func (s *Notices) Silence(ctx context.Context, scope, rule string, silence notify.Silence) error {
	body, err := encode(silence)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *store.Tx) error {
		if _, err := lockedRule(ctx, tx, scope, rule); err != nil {
			return err
		}
		return tx.Exec(ctx, "UPDATE notify_rule SET silence = ? WHERE scope = ? AND name = ?", body, scope, rule)
	})
}

// newestKept is how many notices of a rule Summaries returns.
const newestKept = 20

// Summaries implements notify.Store.
func (s *Notices) Summaries(ctx context.Context, scope string) (map[string]notify.Summary, time.Time, error) {
	rules, now, err := s.Shared(ctx, scope)
	if err != nil {
		return nil, now, err
	}
	out := map[string]notify.Summary{}
	for name, known := range rules {
		one := notify.Summary{Silence: known.Silence, Phases: map[notify.Phase]int{}}
		err := store.Each(ctx, s.db, func(scan store.Scan) error {
			var phase notify.Phase
			var n int
			err := scan(&phase, &n)
			one.Phases[phase] = n
			return err
		}, "SELECT phase, COUNT(*) FROM notice WHERE scope = ? AND rule = ? GROUP BY phase", scope, name)
		if err != nil {
			return nil, now, err
		}
		one.Newest, err = store.List(ctx, s.db, scanKept, `SELECT body, phase, attempts, ended_us, error FROM notice
WHERE scope = ? AND rule = ? ORDER BY seq DESC LIMIT ?`, scope, name, newestKept)
		if err != nil {
			return nil, now, err
		}
		out[name] = one
	}
	return out, now, nil
}

func scanKept(scan store.Scan) (notify.Kept, error) {
	var k notify.Kept
	var body []byte
	var ended int64
	if err := scan(&body, &k.Phase, &k.Attempts, &ended, &k.Error); err != nil {
		return k, err
	}
	if ended > 0 {
		k.Ended = time.UnixMicro(ended).UTC()
	}
	return k, json.Unmarshal(body, &k.Notice)
}
