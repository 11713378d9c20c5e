package accounts

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/internal/store"
	"opdeck/internal/store/files"
)

// trimEvery is how often old slots are removed from a ring.
const trimEvery = time.Minute

// ring is a row of limit_ring.
type ring struct {
	key                limit.Key
	class              limit.Class
	notBefore, trimmed time.Duration
}

// ringWhere selects the rows of one ring; its arguments are r.args().
const ringWhere = " WHERE base_url = ? AND account = ? AND class = ?"

func (r *ring) args(more ...any) []any {
	return append([]any{r.key.BaseURL, r.key.Account, string(r.class)}, more...)
}

// lockRing reads a ring's row, created if missing, and locks it against other transactions.
func (s *Store) lockRing(ctx context.Context, tx *store.Tx, key limit.Key, class limit.Class) (*ring, error) {
	r := &ring{key: key, class: class}
	columns, dest := "not_before_ns, trimmed_ns", []any{&r.notBefore, &r.trimmed}
	if tx.Engine() == store.Postgres {
		columns, dest = columns+", "+store.IdleLimit, append(dest, new(string))
	}
	query := "SELECT " + columns + " FROM limit_ring" + ringWhere + tx.Engine().ForUpdate()
	err := tx.QueryRow(ctx, query, r.args()...).Scan(dest...)
	if !errors.Is(err, sql.ErrNoRows) {
		return r, err
	}
	if err := tx.Exec(ctx, "INSERT INTO limit_ring (base_url, account, class) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
		r.args()...); err != nil {
		return nil, err
	}
	return r, tx.QueryRow(ctx, query, r.args()...).Scan(dest...)
}

// Take implements limit.Store.
func (s *Store) Take(ctx context.Context, key limit.Key, req limit.Request) (limit.Grant, error) {
	var g limit.Grant
	err := s.db.WriteUnsynced(ctx, func(tx *store.Tx) error {
		r, err := s.lockRing(ctx, tx, key, req.Class)
		if err != nil {
			return err
		}
		now, err := s.clock.Time(ctx, tx)
		if err != nil {
			return err
		}
		g, err = s.take(ctx, tx, r, req, now)
		return err
	})
	if err != nil {
		return limit.Grant{}, err
	}
	return g, nil
}

// take decides about one request on a locked ring.
func (s *Store) take(ctx context.Context, tx *store.Tx, r *ring, req limit.Request,
	now time.Duration) (limit.Grant, error) {
	if err := s.tend(ctx, tx, r, now); err != nil {
		return limit.Grant{}, err
	}
	own, others, err := s.slots(ctx, tx, r, req, now)
	if err != nil {
		return limit.Grant{}, err
	}
	d := limit.Decide(now, limit.Ring{Slots: others, NotBefore: r.notBefore}, req, own)
	if own != nil && (!d.Take || d.Fresh) {
		err := tx.Exec(ctx, "DELETE FROM limit_slot"+ringWhere+" AND ticket = ?", r.args(req.Ticket)...)
		if err != nil {
			return limit.Grant{}, err
		}
	}
	if !d.Take {
		return limit.Grant{Wait: d.Wait}, nil
	}
	ticket := req.Ticket
	if own == nil {
		ticket = cmp.Or(req.As, rand.Text())
	}
	if d.Fresh {
		err = tx.Exec(ctx, "INSERT INTO limit_slot (base_url, account, class, at_ns, ticket, background, over, who) "+
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			r.args(int64(d.At), ticket, store.Bit(req.Background), store.Bit(d.Over), req.Who)...)
	}
	return limit.Grant{Taken: true, Ticket: ticket, Wait: d.Wait, Over: d.Over}, err
}

// slots reads the slots that matter for req, oldest first, with its own apart; it deletes those implausibly far ahead
// (rule G3).
func (s *Store) slots(ctx context.Context, tx *store.Tx, r *ring, req limit.Request,
	now time.Duration) (own *time.Duration, others []time.Duration, err error) {
	impossible := false
	err = store.Each(ctx, tx, func(scan store.Scan) error {
		var at time.Duration
		var ticket string
		if err := scan(&at, &ticket); err != nil {
			return err
		}
		switch {
		case at > now+limit.MaxAhead:
			impossible = true
		case req.Ticket != "" && ticket == req.Ticket:
			own = &at
		default:
			others = append(others, at)
		}
		return nil
	}, "SELECT at_ns, ticket FROM limit_slot"+ringWhere+" AND at_ns > ? ORDER BY at_ns", r.args(int64(now-reach(req)))...)
	if err != nil {
		return nil, nil, err
	}
	if impossible {
		err = tx.Exec(ctx, "DELETE FROM limit_slot"+ringWhere+" AND at_ns > ?", r.args(int64(now+limit.MaxAhead))...)
	}
	return own, others, err
}

// reach is the greatest age of a slot that matters for req.
func reach(req limit.Request) time.Duration {
	if req.Ticket != "" {
		return limit.Retention
	}
	return req.Rule.Window
}

// tend cuts an impossible not_before (rule G3) and occasionally removes old slots.
func (s *Store) tend(ctx context.Context, tx *store.Tx, r *ring, now time.Duration) error {
	if r.notBefore > now+limit.MaxNotBefore {
		r.notBefore = now + limit.MaxNotBefore
		if err := tx.Exec(ctx, "UPDATE limit_ring SET not_before_ns = ?"+ringWhere,
			append([]any{int64(r.notBefore)}, r.args()...)...); err != nil {
			return err
		}
	}
	if !r.trimDue(now) {
		return nil
	}
	r.trimmed = now
	if err := tx.Exec(ctx, "DELETE FROM limit_slot"+ringWhere+" AND at_ns <= ?",
		r.args(int64(now-limit.Retention))...); err != nil {
		return err
	}
	return tx.Exec(ctx, "UPDATE limit_ring SET trimmed_ns = ?"+ringWhere, append([]any{int64(now)}, r.args()...)...)
}

func (r *ring) trimDue(now time.Duration) bool {
	since := now - r.trimmed
	return since < 0 || since >= trimEvery
}

// GiveBack implements limit.Store.
func (s *Store) GiveBack(ctx context.Context, key limit.Key, class limit.Class, ticket string) error {
	now, err := s.clock.Time(ctx, s.db)
	if err != nil {
		return err
	}
	r := ring{key: key, class: class}
	return s.db.Exec(ctx, "DELETE FROM limit_slot"+ringWhere+" AND ticket = ? AND at_ns > ?",
		r.args(ticket, int64(now))...)
}

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
		ago := now - at
		if s.clock.Settle(us) >= at { // taken and used after now was read: its call does not wait
			ago = max(ago, 0)
		}
		st.Slots = append(st.Slots, limit.Slot{Ago: ago, Background: background != 0, Over: over != 0, Who: who})
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
	for class, st := range out {
		st.At = now
		out[class] = st
	}
	return out, impossible, err
}

// spent records, in a file beside the SQLite file, the newest pair of each key that may be used up: before its
// refresh token is sent, and before a login revokes it. The database can be older: a restored backup, or a file that
// lost its write-ahead log.
type spent struct{ database string } // its path; "": nothing is recorded

func (s spent) file(key session.Key) string { return s.database + ".spent-" + keyID(key) }

const spentForm = "%-32s %20d %20d\n" // of fixed length, so that each note overwrites the last

// age is the state of the database's row relative to the note.
type age int

const (
	current age = iota
	older       // the pair may be used up although the database does not show it
	copied      // the note belongs to another file: the state folder was copied or moved
)

// note records that the pair gen of incarnation, and all earlier ones, may be used up.
func (s spent) note(key session.Key, incarnation string, gen int64) error {
	if s.database == "" {
		return nil
	}
	f, err := files.OpenOwn(s.file(key))
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	id, err := files.ID(f)
	if err == nil {
		_, err = f.WriteAt(fmt.Appendf(nil, spentForm, incarnation, gen, id), 0)
	}
	return errors.Join(err, f.Close())
}

// of compares the database's pair gen of incarnation with the note; older when in doubt.
func (s spent) of(key session.Key, incarnation string, gen int64) age {
	if s.database == "" {
		return current
	}
	f, err := os.Open(s.file(key))
	if errors.Is(err, fs.ErrNotExist) {
		return current
	}
	if err != nil {
		return older
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 200))
	var noted string
	var upTo int64
	var file uint64
	n := 0
	if err == nil {
		n, _ = fmt.Sscanf(string(text), "%s %d %d", &noted, &upTo, &file)
	}
	id, idErr := files.ID(f)
	switch {
	case n == 3 && idErr == nil && file != id:
		return copied
	case n < 2 || noted != incarnation || gen <= upTo:
		return older
	}
	return current
}
