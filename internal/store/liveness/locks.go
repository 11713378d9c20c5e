package liveness

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Hold takes an advisory lock, which the server releases when the process ends. A process that has just started waits
// briefly for its connection: without the lock, its death would delay the others for a whole lease.
func (l *Listener) Hold(id int64) (release func(), ok bool) {
	l.awaitFirst(firstWait)
	if !l.query("SELECT pg_try_advisory_lock($1)", id) {
		return func() {}, false
	}
	l.remember(id, true)
	return func() {
		l.remember(id, false)
		l.query("SELECT pg_advisory_unlock($1)", id)
	}, true
}

// Gone reports whether no one holds a lock; false when in doubt. The server would grant a connection its own lock
// again, so this process's locks are checked here.
func (l *Listener) Gone(id int64) bool {
	return !l.ours(id) && l.query("SELECT CASE WHEN pg_try_advisory_lock_shared($1) THEN pg_advisory_unlock_shared($1) "+
		"ELSE false END",
		id)
}

// Held reports that a process holds a lock; false when in doubt.
func (l *Listener) Held(id int64) bool {
	return l.ours(id) || l.query(
		"SELECT CASE WHEN pg_try_advisory_lock_shared($1) THEN NOT pg_advisory_unlock_shared($1) ELSE true END", id)
}

func (l *Listener) ours(id int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[id]
}

// query runs a boolean query on the listening connection; false when in doubt.
func (l *Listener) query(sql string, id int64) bool {
	answer := make(chan bool, 1)
	ran := l.ask(func(ctx context.Context, conn *pgx.Conn) {
		var yes bool
		err := conn.QueryRow(ctx, sql, id).Scan(&yes)
		answer <- yes && err == nil
	})
	return ran && <-answer
}

// remember records which locks to take again after a reconnect.
func (l *Listener) remember(id int64, held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if held {
		l.held[id] = true
	} else {
		delete(l.held, id)
	}
}
