package accounts

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"time"

	"opdeck/api/limit"
	"opdeck/internal/store"
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
	p := plan(now, r, req, own, others)
	for _, w := range p.write {
		if err := tx.Exec(ctx, w.Query, w.Args...); err != nil {
			return limit.Grant{}, err
		}
	}
	return p.grant, nil
}

// planned is a decision with the writes that it needs.
type planned struct {
	grant limit.Grant
	write []store.Statement
}

// plan converts a decision to writes.
func plan(now time.Duration, r *ring, req limit.Request, own *time.Duration, others []time.Duration) planned {
	d := limit.Decide(now, limit.Ring{Slots: others, NotBefore: r.notBefore}, req, own)
	var p planned
	if own != nil && (!d.Take || d.Fresh) {
		p.write = append(p.write,
			store.Statement{Query: "DELETE FROM limit_slot" + ringWhere + " AND ticket = ?", Args: r.args(req.Ticket)})
	}
	p.grant = limit.Grant{Wait: d.Wait}
	if !d.Take {
		return p
	}
	ticket := req.Ticket
	if own == nil {
		ticket = cmp.Or(req.As, rand.Text())
	}
	p.grant = limit.Grant{Taken: true, Ticket: ticket, Wait: d.Wait, Over: d.Over}
	if d.Fresh {
		p.write = append(p.write, store.Statement{
			Query: "INSERT INTO limit_slot (base_url, account, class, at_ns, ticket, background, over, who) " +
				"VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			Args: r.args(int64(d.At), ticket, store.Bit(req.Background), store.Bit(d.Over), req.Who)})
	}
	return p
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
