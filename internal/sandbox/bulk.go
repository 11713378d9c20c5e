package sandbox

import (
	"context"
	"database/sql"
	"strings"
)

// bulk inserts rows in groups with one prepared statement.
type bulk struct {
	ctx           context.Context
	tx            *sql.Tx
	insert        string
	columns, rows int
	stmt          *sql.Stmt
	args          []any
	err           error // the first one; it stops the inserts
}

// newBulk inserts rows at a time; insert ends with the columns in parentheses.
func newBulk(ctx context.Context, tx *sql.Tx, rows int, insert string) *bulk {
	columns := strings.Count(insert, ",") + 1
	return &bulk{ctx: ctx, tx: tx, insert: insert, columns: columns, rows: rows, args: make([]any, 0, columns*rows)}
}

func (b *bulk) query(rows int) string {
	return b.insert + " VALUES " + strings.TrimSuffix(strings.Repeat("("+marks(b.columns)+"),", rows), ",")
}

func (b *bulk) add(row ...any) {
	if b.err != nil {
		return
	}
	if b.args = append(b.args, row...); len(b.args) < b.columns*b.rows {
		return
	}
	if b.stmt == nil {
		if b.stmt, b.err = b.tx.PrepareContext(b.ctx, b.query(b.rows)); b.err != nil {
			return
		}
	}
	_, b.err = b.stmt.ExecContext(b.ctx, b.args...)
	b.args = b.args[:0]
}

// flush writes the rest and returns the first error; b must not be used afterwards.
func (b *bulk) flush() error {
	if b.stmt != nil {
		defer b.stmt.Close()
	}
	if len(b.args) > 0 && b.err == nil {
		_, b.err = b.tx.ExecContext(b.ctx, b.query(len(b.args)/b.columns), b.args...)
	}
	return b.err
}
