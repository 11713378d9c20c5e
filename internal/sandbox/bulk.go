package sandbox

import (
	"context"
	"database/sql"
	"strings"
)

// bulk inserts rows in groups through one prepared statement.
type bulk struct {
	tx            *sql.Tx
	insert        string
	columns, rows int
	stmt          *sql.Stmt
	args          []any
}

func newBulk(tx *sql.Tx, insert string, columns, rows int) *bulk {
	return &bulk{tx: tx, insert: insert, columns: columns, rows: rows, args: make([]any, 0, columns*rows)}
}

func (b *bulk) query(rows int) string {
	return b.insert + " VALUES " + strings.TrimSuffix(strings.Repeat("("+marks(b.columns)+"),", rows), ",")
}

func (b *bulk) add(ctx context.Context, row ...any) error {
	b.args = append(b.args, row...)
	if len(b.args) < b.columns*b.rows {
		return nil
	}
	if b.stmt == nil {
		var err error
		if b.stmt, err = b.tx.PrepareContext(ctx, b.query(b.rows)); err != nil {
			return err
		}
	}
	_, err := b.stmt.ExecContext(ctx, b.args...)
	b.args = b.args[:0]
	return err
}

// flush writes what is left and ends the use of b.
func (b *bulk) flush(ctx context.Context) error {
	if b.stmt != nil {
		defer b.stmt.Close()
	}
	if len(b.args) == 0 {
		return nil
	}
	_, err := b.tx.ExecContext(ctx, b.query(len(b.args)/b.columns), b.args...)
	b.args = b.args[:0]
	return err
}
