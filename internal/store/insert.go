package store

import (
	"context"
	"database/sql"
	"strings"
)

// Stmt is a statement that a transaction runs repeatedly.
type Stmt struct {
	tx *Tx
	st *sql.Stmt
}

// Prepare prepares a statement. Close it before the transaction ends.
func (tx *Tx) Prepare(ctx context.Context, query string) (*Stmt, error) {
	st, err := tx.tx.PrepareContext(ctx, tx.db.bind(query))
	if err != nil {
		return nil, tx.explain(err)
	}
	return &Stmt{tx, st}, nil
}

// Exec runs the statement unless ctx has ended.
func (s *Stmt) Exec(ctx context.Context, args ...any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := s.st.ExecContext(context.WithoutCancel(ctx), args...) // a cancellable context costs a goroutine a call
	return s.tx.explain(err)
}

// Close frees the statement.
func (s *Stmt) Close() { _ = s.st.Close() }

// Inserter inserts rows, for PostgreSQL many per statement. SQLite gets one row per statement: a larger one keeps a
// journal to undo itself, which costs more than the calls.
type Inserter struct {
	tx    *Tx
	head  string
	width int
	rows  []any
	full  *Stmt
}

// NewInserter returns an inserter for "INSERT INTO t (a, b)" with width columns.
func (tx *Tx) NewInserter(head string, width int) *Inserter {
	return &Inserter{tx: tx, head: head, width: width}
}

func (in *Inserter) atOnce() int {
	if in.tx.Engine() == SQLite {
		return 1
	}
	return 40
}

// Add adds one row.
func (in *Inserter) Add(ctx context.Context, row ...any) (err error) {
	in.rows = append(in.rows, row...)
	if len(in.rows) < in.atOnce()*in.width {
		return nil
	}
	if in.full == nil {
		if in.full, err = in.tx.Prepare(ctx, in.text(in.atOnce())); err != nil {
			return err
		}
	}
	err = in.full.Exec(ctx, in.rows...)
	in.rows = in.rows[:0]
	return err
}

func (in *Inserter) text(rows int) string {
	one := "(" + Marks(in.width) + "), "
	return in.head + " VALUES " + strings.TrimSuffix(strings.Repeat(one, rows), ", ")
}

// Flush writes the remaining rows; the inserter must not be used afterwards.
func (in *Inserter) Flush(ctx context.Context) error {
	if in.full != nil {
		defer in.full.Close()
	}
	if len(in.rows) == 0 {
		return nil
	}
	return in.tx.Exec(ctx, in.text(len(in.rows)/in.width), in.rows...)
}
