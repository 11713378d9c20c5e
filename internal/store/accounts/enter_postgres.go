package accounts

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/internal/store"
)

// errNotSimple: Enter must take the long path, because of a missing row, an impossible time, or old slots to remove.
var errNotSimple = errors.New("store: not a simple entry")

// enterPostgres is Enter in two round trips instead of six. If it returns errNotSimple, it has written nothing.
func (s *Store) enterPostgres(ctx context.Context, key session.Key, req limit.Request,
	usable func(session.Row) bool) (session.Row, limit.Grant, error) {
	r := &ring{key: key, class: req.Class}
	read := []store.Statement{
		{Query: "SELECT not_before_ns, trimmed_ns, set_config('synchronous_commit', 'off', true), " + store.IdleLimit +
			" FROM limit_ring" + ringWhere + " FOR UPDATE", Args: r.args()},
		{Query: s.rowQuery(), Args: []any{key.BaseURL, key.Account}},
		{Query: "SELECT at_ns, ticket FROM limit_slot" + ringWhere + " AND at_ns > " + s.clock.Column() +
			" * 1000 + ?::BIGINT ORDER BY at_ns",
			Args: r.args(int64(s.clock.Settle(0) - reach(req)))},
	}
	var row session.Row
	var p planned
	start := time.Now()
	err := s.db.Pipeline(ctx, read, func(answers store.Answers) ([]store.Statement, error) {
		rec, own, others, err := s.enterAnswers(answers, r, req)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil, errNotSimple
		case err != nil:
			return nil, err
		case rec.changed, r.notBefore > rec.now+limit.MaxNotBefore, r.trimDue(rec.now),
			len(others) > 0 && others[len(others)-1] > rec.now+limit.MaxAhead, own != nil && *own > rec.now+limit.MaxAhead:
			return nil, errNotSimple
		}
		if row = s.view(rec, start); !usable(row) {
			return nil, nil
		}
		p = plan(rec.now, r, req, own, others)
		return p.write, nil
	})
	if err != nil {
		return row, limit.Grant{}, err
	}
	return row, p.grant, nil
}

// enterAnswers reads the results of the statements of enterPostgres.
func (s *Store) enterAnswers(answers store.Answers, r *ring,
	req limit.Request) (rec *record, own *time.Duration, others []time.Duration, err error) {
	var unsynced, idle string
	if err = answers.QueryRow().Scan(&r.notBefore, &r.trimmed, &unsynced, &idle); err != nil {
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
