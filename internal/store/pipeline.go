package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Statement is a query with its arguments.
type Statement struct {
	Query string
	Args  []any
}

// Answers are the results of some statements, in order.
type Answers = pgx.BatchResults

// Pipeline runs a writing transaction in two round trips to a PostgreSQL server instead of one per statement, since
// most of the cost of a small transaction is waiting. decide reads the results of read and returns the writes; if it
// returns none, or an error, nothing is written. Like Write, it may return an *Error of kind Unknown.
func (db *DB) Pipeline(ctx context.Context, read []Statement, decide func(Answers) ([]Statement, error)) error {
	c, err := db.w.Conn(ctx)
	if err != nil {
		return db.explain(err)
	}
	defer func() { _ = c.Close() }()
	return c.Raw(func(driver any) error {
		conn := driver.(*stdlib.Conn).Conn()
		defer leave(ctx, conn) // rolls back
		answers := conn.SendBatch(ctx, db.batch(Statement{Query: "BEGIN ISOLATION LEVEL READ COMMITTED"}, read...))
		_, err := answers.Exec()
		var write []Statement
		if err == nil {
			write, err = decide(answers)
		}
		if e := answers.Close(); err == nil {
			err = e
		}
		if err != nil || len(write) == 0 {
			return db.explain(err)
		}
		b := db.batch(write[0], write[1:]...)
		b.Queue("COMMIT")
		return db.explainCommit(conn.SendBatch(ctx, b).Close())
	})
}

func (db *DB) batch(first Statement, more ...Statement) *pgx.Batch {
	b := new(pgx.Batch)
	b.Queue(db.bind(first.Query), first.Args...)
	for _, s := range more {
		b.Queue(db.bind(s.Query), s.Args...)
	}
	return b
}

// leave ensures that no transaction stays open on a connection that returns to the pool, even if the caller's context
// has ended: it would keep its lock.
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

// Connect opens a PostgreSQL connection outside the pool, which the caller closes.
func (db *DB) Connect(ctx context.Context) (*pgx.Conn, error) {
	cfg, err := postgresConfig(db.dsn)
	if err != nil {
		return nil, err
	}
	return pgx.ConnectConfig(ctx, cfg)
}
