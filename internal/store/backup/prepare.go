package backup

import (
	"context"
	"encoding/json"
	"time"

	"opdeck/api/limit"
	"opdeck/internal/domain/approval"
	"opdeck/internal/store"
)

// DropTokens removes from the copy of a store what only the running processes may use: the token pairs, so that the
// next call of each account logs in, the leases and the marks of processes.
func DropTokens(ctx context.Context, s *store.Store) error {
	if err := s.Core.Tune(ctx, "PRAGMA secure_delete = ON"); err != nil { // no token stays in a free page
		return err
	}
	err := s.Core.Write(ctx, func(tx *store.Tx) error {
		return execAll(ctx, tx,
			`UPDATE session SET incarnation = lower(hex(randomblob(16))), pair_state = 'none', sealed_access = NULL,
				sealed_refresh = NULL, access_until_ns = 0, refresh_until_ns = 0, fence = fence + 1, owner = '{}',
				phase = 'free', has_lock = 0, lease_boot = '', lease_for_ns = 0, lease_until_ns = 0, routes = '[]'`,
			`DELETE FROM session_instance`, `DELETE FROM presence`,
			`DELETE FROM observation WHERE scope <> '' AND part <> 'lock'`,
			`UPDATE notice SET owner = '', until_us = 0 WHERE ended_us = 0`,
			`UPDATE turn SET owner = '', until_us = 0`)
	})
	if err != nil {
		return err
	}
	return s.Bulk.Write(ctx, func(tx *store.Tx) error {
		return execAll(ctx, tx, `UPDATE index_meta SET owner = '', until_us = 0 WHERE owner <> ''`)
	})
}

func execAll(ctx context.Context, tx *store.Tx, statements ...string) error {
	for _, s := range statements {
		if err := tx.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// Renewed counts what a restored store has in doubt.
type Renewed struct {
	Writes   int64 `json:"writes"`    // with an unknown outcome
	Jobs     int64 `json:"jobs"`      // unfinished replacements
	Requests int64 `json:"approvals"` // requests for approval that lapsed
}

// Renew prepares the copy of a store that is about to be used again, though it is as old as taken. Writes in doubt and
// unfinished jobs say so, are looked up as if they were sent now, and stay in doubt; requests for approval lapse, since
// one may have been used.
func Renew(ctx context.Context, core *store.DB, taken time.Time) (n Renewed, err error) {
	mark, err := json.Marshal(taken)
	if err != nil {
		return n, err
	}
	err = core.Write(ctx, func(tx *store.Tx) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		n.Writes, err = editRows(ctx, tx, "unsettled", "ref", "state <> 'not_seen'", map[string]json.RawMessage{
			"restored": mark})
		if err != nil {
			return err
		}
		if err := tx.Exec(ctx, `UPDATE unsettled SET until_us = MAX(until_us, ? + until_us - sent_us), next_us = ?, looks = 0
			WHERE state <> 'not_seen'`, now.UnixMicro(), now.UnixMicro()); err != nil {
			return err
		}
		if n.Jobs, err = editRows(ctx, tx, "job", "id", "done = 0",
			map[string]json.RawMessage{"restored": mark}); err != nil {
			return err
		}
		n.Requests, err = editRows(ctx, tx, "approval", "id", "state IN ('open', 'approved')", map[string]json.RawMessage{
			"state": quoted(string(approval.Lapsed)), "ended": quoted("a backup of the store was restored")})
		if err != nil {
			return err
		}
		return execAll(ctx, tx, `UPDATE approval SET state = 'lapsed' WHERE state IN ('open', 'approved')`,
			`UPDATE approval_version SET n = n + 1`)
	})
	return n, err
}

func quoted(s string) json.RawMessage {
	b, _ := json.Marshal(s) // a string
	return b
}

// editRows sets members of the JSON in body, and returns the number of rows.
func editRows(ctx context.Context, tx *store.Tx, table, id, where string, set map[string]json.RawMessage) (int64,
	error) {
	type row struct{ id, body string }
	rows, err := store.List(ctx, tx, func(scan store.Scan) (r row, err error) { return r, scan(&r.id, &r.body) },
		"SELECT "+id+", body FROM "+table+" WHERE "+where)
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		body := map[string]json.RawMessage{}
		if err := json.Unmarshal([]byte(r.body), &body); err != nil {
			return 0, err
		}
		for name, v := range set {
			body[name] = v
		}
		text, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		if err := tx.Exec(ctx, "UPDATE "+table+" SET body = ? WHERE "+id+" = ? AND "+where, string(text), r.id); err != nil {
			return 0, err
		}
	}
	return int64(len(rows)), nil
}

// CarryBudgets takes over what the replaced store has used of the budgets. ok is false if that cannot be compared:
// the machine was started since.
func CarryBudgets(ctx context.Context, from, to *store.DB) (ok bool, err error) {
	shift, ok, err := clockShift(ctx, from, to)
	if err != nil || !ok {
		return ok, err
	}
	type slot struct {
		base, account, class, ticket string
		at                           int64
		background, over             int
	}
	type ring struct {
		base, account, class string
		notBefore            int64
	}
	slots, err := store.List(ctx, from, func(scan store.Scan) (s slot, err error) {
		return s, scan(&s.base, &s.account, &s.class, &s.at, &s.ticket, &s.background, &s.over)
	}, "SELECT base_url, account, class, at_ns, ticket, background, over FROM limit_slot")
	if err != nil {
		return false, err
	}
	rings, err := store.List(ctx, from, func(scan store.Scan) (r ring, err error) {
		return r, scan(&r.base, &r.account, &r.class, &r.notBefore)
	}, "SELECT base_url, account, class, not_before_ns FROM limit_ring")
	if err != nil {
		return false, err
	}
	return true, to.Write(ctx, func(tx *store.Tx) error {
		for _, r := range rings {
			if err := tx.Exec(ctx, `INSERT INTO limit_ring (base_url, account, class, not_before_ns) VALUES (?, ?, ?, ?)
				ON CONFLICT (base_url, account, class) DO UPDATE SET not_before_ns = MAX(not_before_ns, excluded.not_before_ns)`,
				r.base, r.account, r.class, r.notBefore+shift); err != nil {
				return err
			}
		}
		for _, s := range slots {
			if err := tx.Exec(ctx, `INSERT INTO limit_slot (base_url, account, class, at_ns, ticket, background, over)
				VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, s.base, s.account, s.class, s.at+shift, s.ticket,
				s.background, s.over); err != nil {
				return err
			}
		}
		return nil
	})
}

// clockShift is what must be added to a time of one store's clock to get that of another one, in nanoseconds; ok is
// false if one of them is of an earlier start of the machine.
func clockShift(ctx context.Context, from, to *store.DB) (shift int64, ok bool, err error) {
	var boots [2]string
	var offsets [2]int64
	for i, db := range []*store.DB{from, to} {
		if err := db.QueryRow(ctx, "SELECT boot, offset_ns FROM store_clock WHERE id = 1").Scan(&boots[i],
			&offsets[i]); err != nil {
			return 0, false, err
		}
	}
	return offsets[1] - offsets[0], store.SameBoot(boots[0], boots[1]), nil
}

// FillBudgets counts the budgets of all accounts as used up, for where no one knows what was used in the last minute;
// one login stays free.
func FillBudgets(ctx context.Context, core *store.DB, perMinute map[limit.Class]int, ticket func() string) error {
	type account struct{ base, name string }
	accounts, err := store.List(ctx, core, func(scan store.Scan) (a account, err error) {
		return a, scan(&a.base, &a.name)
	}, "SELECT base_url, account FROM session UNION SELECT base_url, account FROM limit_ring")
	if err != nil {
		return err
	}
	return core.Write(ctx, func(tx *store.Tx) error {
		now, err := core.Clock().Time(ctx, tx)
		if err != nil {
			return err
		}
		for _, a := range accounts {
			for class, n := range perMinute {
				if class == limit.Login {
					n--
				}
				for range n {
					if err := tx.Exec(ctx, `INSERT INTO limit_slot (base_url, account, class, at_ns, ticket, background, over)
						VALUES (?, ?, ?, ?, ?, 0, 0)`, a.base, a.name, string(class), int64(now), ticket()); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}
