package store

import (
	"context"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"opdeck/api/session"
)

// Liveness returns the hint that the holder of a lease is alive (rules L1 to
// L3): a kernel lock on a file beside the SQLite file, or an advisory lock on the
// listening connection, which PostgreSQL frees when the connection ends. Behind a
// pooler and in memory there is none to be had, and the lease alone decides.
func (s *Session) Liveness() session.Liveness {
	switch {
	case s.db.engine == Postgres:
		return serverLiveness{s.startBell()}
	case s.db.path != "":
		return fileLiveness{filepath.Dir(s.db.path)}
	}
	return nil
}

// fileLiveness keeps one lock file per key in dir, which is never deleted.
type fileLiveness struct{ dir string }

// open makes a fresh descriptor, closed on exec.
func (l fileLiveness) open(key session.Key) (*os.File, error) {
	name := filepath.Join(l.dir, "holder-"+keyID(key)+".lock")
	if err := ownFile(name); err != nil {
		return nil, err
	}
	return os.OpenFile(name, os.O_RDWR, 0o600)
}

// Hold implements session.Liveness.
func (l fileLiveness) Hold(key session.Key) (release func(), ok bool) {
	f, err := l.open(key)
	if err != nil {
		return func() {}, false
	}
	if ok, err := lockFile(f, true, false); err != nil || !ok {
		_ = f.Close()
		return func() {}, false
	}
	return func() { _ = f.Close() }, true
}

// Gone implements session.Liveness.
func (l fileLiveness) Gone(key session.Key) bool {
	f, err := l.open(key)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	ok, err := lockFile(f, false, false)
	return ok && err == nil
}

// serverLiveness asks on the listening connection.
type serverLiveness struct{ bell *bell }

// Hold implements session.Liveness. A process that has just started waits a
// moment for its connection: without the lock, its death would stall the others
// for a whole lease.
func (l serverLiveness) Hold(key session.Key) (release func(), ok bool) { return l.hold(lockID(key)) }

func (l serverLiveness) hold(id int64) (release func(), ok bool) {
	l.bell.awaitFirst(firstWait)
	if !l.query("SELECT pg_try_advisory_lock($1)", id) {
		return func() {}, false
	}
	l.bell.hold(id, true)
	return func() {
		l.bell.hold(id, false)
		l.query("SELECT pg_advisory_unlock($1)", id)
	}, true
}

// Gone implements session.Liveness. The server would grant a connection its own
// lock again, so what this process holds is asked here.
func (l serverLiveness) Gone(key session.Key) bool { return l.gone(lockID(key)) }

func (l serverLiveness) gone(id int64) bool {
	if l.bell.holds(id) {
		return false
	}
	return l.query("SELECT CASE WHEN pg_try_advisory_lock_shared($1) THEN pg_advisory_unlock_shared($1) ELSE false END", id)
}

// query asks for a truth value; false when in doubt.
func (l serverLiveness) query(sql string, id int64) bool {
	answer := make(chan bool, 1)
	ran := l.bell.ask(func(ctx context.Context, conn *pgx.Conn) {
		var yes bool
		err := conn.QueryRow(ctx, sql, id).Scan(&yes)
		answer <- yes && err == nil
	})
	return ran && <-answer
}

func (b *bell) holds(id int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held[id]
}

// hold remembers locks to take again when the connection was lost.
func (b *bell) hold(id int64, yes bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if yes {
		b.held[id] = true
	} else {
		delete(b.held, id)
	}
}
