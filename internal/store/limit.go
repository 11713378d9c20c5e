package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"time"

	"opdeck/api/limit"
)

// Limit keeps the budgets of all processes that share a core database. It
// implements limit.Store.
type Limit struct {
	db    *DB
	clock clock
}

var _ limit.Store = (*Limit)(nil)

// NewLimit returns the budgets in core.
func NewLimit(_ context.Context, core *DB) (*Limit, error) {
	return &Limit{db: core, clock: core.source.clock}, nil
}

// trimEvery is how often a ring drops slots that are too old to matter.
const trimEvery = time.Minute

// ring is a row of limit_ring.
type ring struct {
	key                limit.Key
	class              limit.Class
	notBefore, trimmed time.Duration
}

// where selects the rows of one ring; its arguments are r.args().
const ringWhere = " WHERE base_url = ? AND account = ? AND class = ?"

func (r *ring) args(more ...any) []any {
	return append([]any{r.key.BaseURL, r.key.Account, string(r.class)}, more...)
}

// lockRing reads a ring's row, made if missing, and keeps other transactions of
// the same ring out.
func (l *Limit) lockRing(ctx context.Context, tx *Tx, key limit.Key, class limit.Class) (*ring, error) {
	r := &ring{key: key, class: class}
	columns, dest := "not_before_ns, trimmed_ns", []any{&r.notBefore, &r.trimmed}
	if tx.Engine() == Postgres {
		columns, dest = columns+", "+impatient, append(dest, new(string))
	}
	query := "SELECT " + columns + " FROM limit_ring" + ringWhere + tx.Engine().ForUpdate()
	err := tx.QueryRow(ctx, query, r.args()...).Scan(dest...)
	if !errors.Is(err, sql.ErrNoRows) {
		return r, err
	}
	if _, err := tx.Exec(ctx, "INSERT INTO limit_ring (base_url, account, class) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", r.args()...); err != nil {
		return nil, err
	}
	return r, tx.QueryRow(ctx, query, r.args()...).Scan(dest...)
}

// Take implements limit.Store.
func (l *Limit) Take(ctx context.Context, key limit.Key, req limit.Request) (limit.Grant, error) {
	var g limit.Grant
	err := l.db.WriteHasty(ctx, func(tx *Tx) error {
		r, err := l.lockRing(ctx, tx, key, req.Class)
		if err != nil {
			return err
		}
		now, err := l.clock.now(ctx, tx)
		if err != nil {
			return err
		}
		g, err = l.take(ctx, tx, r, req, now)
		return err
	})
	if err != nil {
		return limit.Grant{}, err
	}
	return g, nil
}

// take decides about one request on a locked ring.
func (l *Limit) take(ctx context.Context, tx *Tx, r *ring, req limit.Request, now time.Duration) (limit.Grant, error) {
	if err := l.tend(ctx, tx, r, now); err != nil {
		return limit.Grant{}, err
	}
	own, others, err := l.slots(ctx, tx, r, req, now)
	if err != nil {
		return limit.Grant{}, err
	}
	p := plan(now, r, req, own, others)
	if p.drop {
		if _, err := tx.Exec(ctx, dropSlot, r.args(req.Ticket)...); err != nil {
			return limit.Grant{}, err
		}
	}
	if p.put {
		if _, err := tx.Exec(ctx, putSlot, p.slot...); err != nil {
			return limit.Grant{}, err
		}
	}
	return p.grant, nil
}

const (
	dropSlot = "DELETE FROM limit_slot" + ringWhere + " AND ticket = ?"
	putSlot  = "INSERT INTO limit_slot (base_url, account, class, at_ns, ticket, background, over) VALUES (?, ?, ?, ?, ?, ?, ?)"
)

// planned is what a decision asks to be written.
type planned struct {
	grant limit.Grant
	drop  bool  // delete the request's own slot
	put   bool  // insert slot
	slot  []any // arguments of putSlot
}

// plan turns the rules' decision into what is to be written.
func plan(now time.Duration, r *ring, req limit.Request, own *time.Duration, others []time.Duration) planned {
	d := limit.Decide(now, limit.Ring{Slots: others, NotBefore: r.notBefore}, req, own)
	p := planned{drop: own != nil && (!d.Take || d.Fresh)}
	if !d.Take {
		p.grant = limit.Grant{Wait: d.Wait}
		return p
	}
	ticket := req.Ticket
	if own == nil {
		ticket = rand.Text()
	}
	p.grant = limit.Grant{Taken: true, Ticket: ticket, Wait: d.Wait, Over: d.Over}
	p.put, p.slot = d.Fresh, r.args(int64(d.At), ticket, flag(req.Background), flag(d.Over))
	return p
}

// slots reads the slots that matter for req, oldest first, its own apart; those
// too far ahead to be true are deleted (rule G3).
func (l *Limit) slots(ctx context.Context, tx *Tx, r *ring, req limit.Request, now time.Duration) (own *time.Duration, others []time.Duration, err error) {
	rows, err := tx.Query(ctx, "SELECT at_ns, ticket FROM limit_slot"+ringWhere+" AND at_ns > ? ORDER BY at_ns", r.args(int64(now-reach(req)))...)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = rows.Close() }()
	impossible := false
	for rows.Next() {
		var at time.Duration
		var ticket string
		if err := rows.Scan(&at, &ticket); err != nil {
			return nil, nil, tx.db.explain(err)
		}
		switch {
		case at > now+limit.MaxAhead:
			impossible = true
		case req.Ticket != "" && ticket == req.Ticket:
			own = &at
		default:
			others = append(others, at)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, nil, tx.db.explain(err)
	}
	if impossible {
		_, err = tx.Exec(ctx, "DELETE FROM limit_slot"+ringWhere+" AND at_ns > ?", r.args(int64(now+limit.MaxAhead))...)
	}
	return own, others, err
}

// reach is how old a slot can be and matter for req.
func reach(req limit.Request) time.Duration {
	if req.Ticket != "" {
		return limit.Retention
	}
	return req.Rule.Window
}

// tend cuts an impossible not_before (rule G3) and drops old slots now and then.
func (l *Limit) tend(ctx context.Context, tx *Tx, r *ring, now time.Duration) error {
	if r.notBefore > now+limit.MaxNotBefore {
		r.notBefore = now + limit.MaxNotBefore
		if _, err := tx.Exec(ctx, "UPDATE limit_ring SET not_before_ns = ?"+ringWhere, append([]any{int64(r.notBefore)}, r.args()...)...); err != nil {
			return err
		}
	}
	if !r.trimDue(now) {
		return nil
	}
	r.trimmed = now
	if _, err := tx.Exec(ctx, "DELETE FROM limit_slot"+ringWhere+" AND at_ns <= ?", r.args(int64(now-limit.Retention))...); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "UPDATE limit_ring SET trimmed_ns = ?"+ringWhere, append([]any{int64(now)}, r.args()...)...)
	return err
}

func (r *ring) trimDue(now time.Duration) bool {
	since := now - r.trimmed
	return since < 0 || since >= trimEvery
}

// GiveBack implements limit.Store.
func (l *Limit) GiveBack(ctx context.Context, key limit.Key, class limit.Class, ticket string) error {
	now, err := l.clock.now(ctx, l.db)
	if err != nil {
		return err
	}
	r := ring{key: key, class: class}
	_, err = l.db.Exec(ctx, "DELETE FROM limit_slot"+ringWhere+" AND ticket = ? AND at_ns > ?", r.args(ticket, int64(now))...)
	return err
}

// flag is a bool as the databases keep it.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
