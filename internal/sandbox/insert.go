package sandbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

// Insert is a batch of new operations.
type Insert struct {
	Count int `json:"count"`
	// Created is the creation time of the first; each further one is a millisecond newer. Zero: now, or after the
	// newest operation.
	Created time.Time `json:"created,omitzero"`
	Quiet   bool      `json:"quiet,omitempty"` // without webhooks
}

// insertedFrom is the number of the first inserted operation, above all numbers of sample data.
const insertedFrom = 1 << 30

// Insert adds operations and returns their ids in order.
func (s *store) Insert(ctx context.Context, in Insert) (opids []string, err error) {
	err = s.change(ctx, func(c *call, tx *sql.Tx) error {
		if err := breakOrder(ctx, tx); err != nil {
			return err
		}
		at := in.Created.UnixNano()
		if in.Created.IsZero() {
			newest, err := count(ctx, tx, `SELECT ifnull(max(created), 0) FROM operation`)
			if err != nil {
				return err
			}
			at = max(c.at.UnixNano(), newest+int64(time.Millisecond))
		}
		w := newWorld(c.st.dataset())
		for i := range in.Count {
			opid, err := insertOne(c, tx, w, newcomer{created: at + int64(i)*int64(time.Millisecond), quiet: in.Quiet})
			if err != nil {
				return err
			}
			opids = append(opids, opid)
		}
		return nil
	})
	return opids, err
}

// newcomer is an operation to insert.
type newcomer struct {
	created int64 // Unix nanoseconds
	quiet   bool  // without a webhook
	settled bool  // in its drawn state; else PENDING
}

func insertOne(c *call, tx *sql.Tx, w *world, in newcomer) (string, error) {
	k, err := incremented(c.ctx, tx, "inserted")
	if err != nil {
		return "", err
	}
	n := insertedFrom + int(k)
	o := w.draft(25*(40+int(k)/22) + int(k)%22) // like one that is not part of an exchange
	created, status := in.created, statusPending
	if in.settled {
		status = o.status
	}
	err = execute(c.ctx, tx, `INSERT INTO operation(n, status, type, pay, flags, parent, customer, account, account2,
		cpaccount, created, updated, extra)
		VALUES(?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, ?, ?, NULL)`,
		n, status, o.typ, o.pay, flagVisible, o.customer, o.account, null(o.account2), null(o.target), created, created)
	if err != nil {
		return "", err
	}
	file := w.sampleFile(fileNumber(n, 0), o.customer, false, created)
	if err := execute(c.ctx, tx, fileInsert+` VALUES(`+marks(len(file))+`)`, file...); err != nil {
		return "", err
	}
	err = execute(c.ctx, tx, `INSERT INTO link(op, file, name) VALUES(?, ?, '');
		UPDATE counter SET value = value + 1 WHERE name = 'operations'`, n, fileNumber(n, 0))
	if err != nil {
		return "", err
	}
	ops, err := queryOperations(c.ctx, tx, `WHERE o.n = ?`, n)
	if err != nil {
		return "", err
	}
	if !in.quiet {
		err = raiseOperation(c, tx, ops[0])
	}
	return ops[0].opid(c.st.Seed), err
}

// Remove deletes operations, without a webhook. An unknown id is an error.
func (s *store) Remove(ctx context.Context, opids ...string) error {
	return s.change(ctx, func(c *call, tx *sql.Tx) error {
		if err := breakOrder(ctx, tx); err != nil {
			return err
		}
		for _, opid := range opids {
			o, err := findOperation(c, tx, opid)
			if err != nil {
				return err
			}
			err = execute(ctx, tx, `DELETE FROM link WHERE op = ?1; DELETE FROM operation WHERE n = ?1;
				UPDATE counter SET value = value - 1 WHERE name = 'operations'`, o.n)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// breakOrder records that the numbers of operations are no longer consecutive in time order; lists are then sorted by
// time.
func breakOrder(ctx context.Context, tx *sql.Tx) error {
	return execute(ctx, tx, `CREATE INDEX IF NOT EXISTS operation_created ON operation(created, n)`)
}

func isIrregular(ctx context.Context, q querier) (bool, error) {
	n, err := count(ctx, q, `SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name = 'operation_created'`)
	return n > 0, err
}

// Operation returns an operation in its REST shape; an unknown id is an error.
func (s *store) Operation(ctx context.Context, opid string) (json.RawMessage, error) {
	st, err := loadSettings(ctx, s.ro)
	if err != nil {
		return nil, err
	}
	o, err := findOperation(&call{store: s, ctx: ctx, st: st}, s.ro, opid)
	if err != nil {
		return nil, err
	}
	list, err := renderAll(ctx, s.ro, st.dataset(), []operationRow{o})
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// Operations returns all operations in their REST shape, newest first: the true state.
func (s *store) Operations(ctx context.Context) ([]json.RawMessage, error) {
	st, err := loadSettings(ctx, s.ro)
	if err != nil {
		return nil, err
	}
	list := []json.RawMessage{}
	const step = 500 // rows per query: a limit of SQLite's parameters
	for at := 0; ; at += step {
		ops, err := queryOperations(ctx, s.ro, `ORDER BY o.created DESC, o.n LIMIT ? OFFSET ?`, step, at)
		if err != nil || len(ops) == 0 {
			return list, err
		}
		shown, err := renderAll(ctx, s.ro, st.dataset(), ops)
		if err != nil {
			return nil, err
		}
		list = append(list, shown...)
	}
}
