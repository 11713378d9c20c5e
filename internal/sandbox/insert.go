package sandbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"time"
)

// Insert is a burst of new operations.
type Insert struct {
	Count int `json:"count"`
	// Created is the creation of the first; each further one is a millisecond
	// younger. Zero: now, or after the newest there is.
	Created time.Time `json:"created,omitzero"`
	Quiet   bool      `json:"quiet,omitempty"` // without webhooks
}

// insertedFrom is the number of the first inserted operation: above all numbers
// of sample data.
const insertedFrom = 1 << 30

// Insert adds operations and returns their ids, the first one first.
func (s *Service) Insert(ctx context.Context, in Insert) (opids []string, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
		st, err := loadSettings(ctx, tx)
		if err != nil {
			return err
		}
		if err := irregular(ctx, tx); err != nil {
			return err
		}
		at := in.Created.UnixNano()
		if in.Created.IsZero() {
			var newest sql.NullInt64
			if err := tx.QueryRowContext(ctx, `SELECT max(created) FROM operation`).Scan(&newest); err != nil {
				return err
			}
			at = max(s.now().UnixNano(), newest.Int64+int64(time.Millisecond))
		}
		w := newWorld(st.Seed)
		for i := range in.Count {
			opid, err := s.insertOne(ctx, tx, st, w, at+int64(i)*int64(time.Millisecond), in.Quiet)
			if err != nil {
				return err
			}
			opids = append(opids, opid)
		}
		return nil
	})
	return opids, err
}

func (s *Service) insertOne(ctx context.Context, tx *sql.Tx, st settings, w *world, created int64, quiet bool) (string, error) {
	k, err := bumped(ctx, tx, "inserted")
	if err != nil {
		return "", err
	}
	if _, err := bumped(ctx, tx, "operations"); err != nil {
		return "", err
	}
	n := insertedFrom + int(k)
	o := w.draft(25*(40+int(k)/22) + int(k)%22) // drawn like one that belongs to no exchange
	_, err = tx.ExecContext(ctx, `INSERT INTO operation(n, status, type, pay, flags, parent, customer, account, account2, cpaccount, created, updated, extra)
		VALUES(?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, ?, ?, NULL)`,
		n, statusPending, o.typ, o.pay, flagVisible, o.customer, o.account, null(o.account2), null(o.target), created, created)
	if err != nil {
		return "", err
	}
	b := newBulk(tx, fileInsert, fileColumns, 1)
	if err := b.add(ctx, sampleFile(st.Seed, fileNumber(n, 0), o.customer, false, created)...); err != nil {
		return "", err
	}
	if err := b.flush(ctx); err != nil {
		return "", err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO link(op, file, name) VALUES(?, ?, '')`, n, fileNumber(n, 0)); err != nil {
		return "", err
	}
	ops, err := queryOperations(ctx, tx, `WHERE o.n = ?`, n)
	if err != nil || quiet {
		return opidOf(st.Seed, int64(n)).String(), err
	}
	return ops[0].opid(st.Seed), s.raiseOperation(ctx, tx, st, ops[0], s.now())
}

// Remove deletes operations, without a webhook. An unknown id is an error.
func (s *Service) Remove(ctx context.Context, opids ...string) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		st, err := loadSettings(ctx, tx)
		if err != nil {
			return err
		}
		if err := irregular(ctx, tx); err != nil {
			return err
		}
		for _, opid := range opids {
			o, found, err := findOperation(ctx, tx, st.Seed, opid)
			if err != nil {
				return err
			}
			if !found {
				return operationNotFound(opid)
			}
			_, err = tx.ExecContext(ctx, `DELETE FROM link WHERE op = ?1; DELETE FROM operation WHERE n = ?1;
				UPDATE counter SET value = value - 1 WHERE name = 'operations'`, o.n)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// irregular notes that the numbers of operations no longer run without gaps in
// the order of time; lists are ordered by time from then on.
func irregular(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `CREATE INDEX IF NOT EXISTS operation_created ON operation(created, n)`)
	return err
}

func isIrregular(ctx context.Context, q querier) (bool, error) {
	n, err := count(ctx, q, `SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name = 'operation_created'`)
	return n > 0, err
}

// Operations returns all operations in their REST shape, the newest first: what
// is true at the service.
func (s *Service) Operations(ctx context.Context) ([]json.RawMessage, error) {
	st, err := loadSettings(ctx, s.ro)
	if err != nil {
		return nil, err
	}
	list := []json.RawMessage{}
	const step = 500 // SQLite takes so many parameters at a time
	for at := 0; ; at += step {
		ops, err := queryOperations(ctx, s.ro, `ORDER BY o.created DESC, o.n LIMIT ? OFFSET ?`, step, at)
		if err != nil || len(ops) == 0 {
			return list, err
		}
		shown, err := renderAll(ctx, s.ro, st.Seed, ops)
		if err != nil {
			return nil, err
		}
		list = append(list, shown...)
	}
}

func (s *Service) adminOperations(c *call) (answer, error) {
	list, err := s.Operations(c.ctx)
	return answered(map[string]any{"total": len(list), "items": list}, err)
}

func (s *Service) adminInsert(c *call) (answer, error) {
	var in Insert
	if err := c.bind(&in); err != nil {
		return answer{}, err
	}
	if in.Count < 1 || in.Count > 100_000 {
		return answer{}, refuse(http.StatusBadRequest, "count must be between 1 and 100000")
	}
	list, err := s.Insert(c.ctx, in)
	return answered(map[string]any{"ids": list}, err)
}

func (s *Service) adminRemove(c *call) (answer, error) {
	var in struct {
		IDs []string `json:"ids"`
	}
	if err := c.bind(&in); err != nil {
		return answer{}, err
	}
	return done(s.Remove(c.ctx, in.IDs...))
}
