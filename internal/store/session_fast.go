package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"opdeck/api/limit"
	"opdeck/api/session"
)

// errNotPlain says that the quick way of Enter found work that only the long
// one does: a missing row, an impossible time, old slots to drop.
var errNotPlain = errors.New("store: not a plain entry")

// enterFast is Enter for PostgreSQL in two exchanges with the server instead of
// six: most of the cost of the small transaction is the waiting in between. It
// wrote nothing when it answers errNotPlain.
func (s *Session) enterFast(ctx context.Context, key session.Key, req limit.Request, usable func(session.Row) bool) (session.Row, limit.Grant, error) {
	var row session.Row
	var grant limit.Grant
	c, err := s.db.w.Conn(ctx)
	if err != nil {
		return row, grant, s.db.explain(err)
	}
	defer func() { _ = c.Close() }()
	err = c.Raw(func(driver any) error {
		conn := driver.(*stdlib.Conn).Conn()
		defer leave(ctx, conn)
		var p planned
		if row, p, err = s.enterRead(ctx, conn, key, req, usable); err != nil || (!p.put && !p.drop) {
			grant = p.grant
			return err // leave rolls back
		}
		b := new(pgx.Batch)
		if p.drop {
			b.Queue(s.db.bind(dropSlot), key.BaseURL, key.Account, string(req.Class), req.Ticket)
		}
		if p.put {
			b.Queue(s.db.bind(putSlot), p.slot...)
		}
		b.Queue("COMMIT")
		err := s.db.explainCommit(conn.SendBatch(ctx, b).Close())
		if err == nil {
			grant = p.grant
		}
		return err
	})
	return row, grant, err
}

// leave sees to it that no transaction stays open on a connection that goes back
// to the pool, also when the caller's context has ended: it would keep its lock.
func leave(ctx context.Context, conn *pgx.Conn) {
	if conn.IsClosed() || conn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if _, err := conn.Exec(ctx, "ROLLBACK"); err != nil {
		_ = conn.Close(ctx)
	}
}

// enterRead begins the transaction, locks the ring, reads row and slots, and
// says what is to be written.
func (s *Session) enterRead(ctx context.Context, conn *pgx.Conn, key session.Key, req limit.Request, usable func(session.Row) bool) (session.Row, planned, error) {
	r := &ring{key: key, class: req.Class}
	b := new(pgx.Batch)
	b.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	b.Queue(s.db.bind("SELECT not_before_ns, trimmed_ns, set_config('synchronous_commit', 'off', true), "+impatient+" FROM limit_ring"+ringWhere+" FOR UPDATE"), r.args()...)
	b.Queue(s.db.bind(s.rowQuery()), key.BaseURL, key.Account)
	b.Queue(s.db.bind("SELECT at_ns, ticket FROM limit_slot"+ringWhere+" AND at_ns > "+serverMicros+" * 1000 + ?::BIGINT ORDER BY at_ns"),
		r.args(int64(s.clock.settle(0)-reach(req)))...)
	start := time.Now()
	answers := conn.SendBatch(ctx, b)
	rec, own, others, err := s.enterAnswers(answers, r, req)
	if e := answers.Close(); err == nil {
		err = e
	}
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return session.Row{}, planned{}, errNotPlain
	case err != nil:
		return session.Row{}, planned{}, s.db.explain(err)
	case rec.changed, r.notBefore > rec.now+limit.MaxNotBefore, r.trimDue(rec.now),
		len(others) > 0 && others[len(others)-1] > rec.now+limit.MaxAhead, own != nil && *own > rec.now+limit.MaxAhead:
		return session.Row{}, planned{}, errNotPlain
	}
	row := s.view(rec, start)
	if !usable(row) {
		return row, planned{}, nil
	}
	p := plan(rec.now, r, req, own, others)
	return row, p, nil
}

// enterAnswers reads the answers to the batch of enterRead.
func (s *Session) enterAnswers(answers pgx.BatchResults, r *ring, req limit.Request) (rec *record, own *time.Duration, others []time.Duration, err error) {
	if _, err = answers.Exec(); err != nil {
		return nil, nil, nil, err
	}
	var hasty, idle string
	if err = answers.QueryRow().Scan(&r.notBefore, &r.trimmed, &hasty, &idle); err != nil {
		return nil, nil, nil, err
	}
	if rec, err = s.decode(r.key, answers.QueryRow().Scan); err != nil {
		return nil, nil, nil, err
	}
	rows, err := answers.Query()
	if err != nil {
		return nil, nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var at time.Duration
		var ticket string
		if err = rows.Scan(&at, &ticket); err != nil {
			return nil, nil, nil, err
		}
		if req.Ticket != "" && ticket == req.Ticket {
			own = &at
		} else {
			others = append(others, at)
		}
	}
	return rec, own, others, rows.Err()
}
