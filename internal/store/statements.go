package store

import (
	"context"
	"database/sql"
	"sync"
)

// maxStatements bounds the prepared statements of a DB.
const maxStatements = 64

// statements holds prepared statements for the transactions of a SQLite file, where parsing is most of the cost of a
// small transaction. For PostgreSQL nothing is prepared, because a pooler may be in between.
type statements struct {
	mu sync.RWMutex // guards m
	m  map[statement]*sql.Stmt
}

type statement struct {
	pool  *sql.DB
	query string
}

// prepared returns query prepared for the transaction, or nil; then it is prepared after the commit.
func (tx *Tx) prepared(ctx context.Context, query string) *sql.Stmt {
	db := tx.db
	if db.queue == nil {
		return nil
	}
	db.stmts.mu.RLock()
	st, room := db.stmts.m[statement{tx.pool, query}], len(db.stmts.m) < maxStatements
	db.stmts.mu.RUnlock()
	if st != nil {
		return tx.tx.StmtContext(ctx, st)
	}
	if room {
		tx.want = append(tx.want, query)
	}
	return nil
}

// keep prepares what the transaction wanted. The connection is free again, and a failure only costs time.
func (tx *Tx) keep(ctx context.Context) {
	if len(tx.want) == 0 {
		return
	}
	s := &tx.db.stmts
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[statement]*sql.Stmt{}
	}
	for _, query := range tx.want {
		at := statement{tx.pool, query}
		if s.m[at] != nil || len(s.m) >= maxStatements {
			continue
		}
		if st, err := tx.pool.PrepareContext(ctx, query); err == nil {
			s.m[at] = st
		}
	}
}
