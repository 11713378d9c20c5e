package sandbox

import (
	"context"
	"database/sql"
	"strings"
)

// bulk inserts rows in groups through one prepared statement.
type bulk struct {
	ctx           context.Context
	tx            *sql.Tx
	insert        string
	columns, rows int
	stmt          *sql.Stmt
	args          []any
	err           error // the first one; nothing is inserted any more
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

// flush writes what is left, ends the use of b and returns the first error.
func (b *bulk) flush() error {
	if b.stmt != nil {
		defer b.stmt.Close()
	}
	if len(b.args) > 0 && b.err == nil {
		_, b.err = b.tx.ExecContext(b.ctx, b.query(len(b.args)/b.columns), b.args...)
	}
	return b.err
}
