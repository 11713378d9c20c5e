package sandbox

import (
	"context"
	"database/sql"
	"time"
)

// repeat calls do after first and then after every, until ctx ends.
func repeat(ctx context.Context, first, every time.Duration, do func()) {
	t := time.NewTimer(first)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			do()
			t.Reset(every)
		}
	}
}

// Step changes the open operation that has been unchanged longest: PENDING becomes PROCESSING, PROCESSING an end
// state; without an open one, an ended one is opened again.
func (s *store) Step(ctx context.Context) error {
	return s.change(ctx, func(c *call, tx *sql.Tx) error { return moveOne(c, tx, "n", 50) })
}

// moveOne changes the operation unchanged longest among the first open ones in that order, or reopens the first ended
// one.
func moveOne(c *call, tx *sql.Tx, order string, first int) error {
	ops, err := queryOperations(c.ctx, tx, `WHERE o.n = (SELECT n FROM
		(SELECT n, updated FROM operation WHERE status IN (1, 2) AND n > 0 ORDER BY `+order+` LIMIT ?)
		ORDER BY updated, n LIMIT 1)`, first)
	if err == nil && len(ops) == 0 {
		ops, err = queryOperations(c.ctx, tx, `WHERE o.n > 0 ORDER BY o.`+order+` LIMIT 1`)
	}
	if err != nil || len(ops) == 0 {
		return err
	}
	return moveOperation(c, tx, &ops[0], nextStatus(ops[0]), move{})
}

func nextStatus(o operationRow) int {
	switch o.status {
	case statusPending:
		return statusProcessing
	case statusProcessing:
		return []int{statusSuccess, statusSuccess, statusCompleted, statusFailed, statusCanceled}[o.n%5]
	}
	return statusPending
}

// move says how a change of an operation is reported.
type move struct {
	quiet bool // without a webhook
	still bool // updatedAt is unchanged
}

// moveOperation sets the status and raises the event.
func moveOperation(c *call, tx *sql.Tx, o *operationRow, status int, how move) error {
	o.status = status
	if !how.still {
		o.updated = max(c.at.UnixNano(), o.updated+1)
	}
	if err := execute(c.ctx, tx, `UPDATE operation SET status = ?, updated = ? WHERE n = ?`, o.status, o.updated,
		o.n); err != nil {
		return err
	}
	if how.quiet {
		return nil
	}
	return raiseOperation(c, tx, *o)
}
