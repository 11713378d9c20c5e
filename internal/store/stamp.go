package store

import (
	"context"
	"database/sql"
	"sync"
)

// Version reports whether anybody has written to a database since an earlier stamp of
// the same Store: equal stamps, nothing was written.
type Version struct{ core, bulk fileVersion }

// Index is the part of the stamp that is about the bulk database, which holds
// the index and the webhooks.
func (s Version) Index() Version { return Version{bulk: s.bulk} }

// HasVersions reports whether the store has stamps: not where they would be a question
// to a server, as with PostgreSQL, and not in memory.
func (s *Store) HasVersions() bool { return s.Core.engine == SQLite && s.Core.path != "" }

// Version reads the stamp of both databases, some 10 µs (BenchmarkStamp); ok is false where
// there is none.
func (s *Store) Version(ctx context.Context) (st Version, ok bool) {
	if !s.HasVersions() {
		return st, false
	}
	return Version{s.Core.observe(ctx), s.Bulk.observe(ctx)}, true
}

// OwnWrites is what st has become when nothing was written since but a sign of life of
// this process, which is not news to it; st itself when there was none.
func (s *Store) OwnWrites(st Version) Version {
	if e := s.Core.ownWrite.Load(); e != nil && e.before == st.core {
		st.core = e.after
	}
	return st
}

// fileVersion is what an observer saw: equal ones, nobody has committed between them.
type fileVersion struct {
	observer int64 // which one checked; versions of two cannot be compared
	version  int64 // SQLite's data_version
}

// observer is a connection that never writes, so that SQLite tells it of every
// commit of all others, here and in other processes.
type observer struct {
	pool *sql.DB // of its own: a writer that looks never waits for readers
	mu   sync.Mutex
	conn *sql.Conn // guarded by mu; nil: not open
	n    int64     // guarded by mu: connections opened so far
}

// observe reads the version of a SQLite file. What cannot be read is different from
// everything before.
func (db *DB) observe(ctx context.Context) fileVersion {
	o := &db.observer
	o.mu.Lock()
	defer o.mu.Unlock()
	if db.identity.check(true) != nil { // differs from every version, so the reader asks and gets the error
		o.n++
		return fileVersion{o.n, -1}
	}
	if o.conn == nil {
		o.n++
		conn, err := o.pool.Conn(ctx)
		if err != nil {
			return fileVersion{o.n, -1}
		}
		o.conn = conn
	}
	m := fileVersion{observer: o.n}
	if err := o.conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&m.version); err != nil {
		o.drop()
		return fileVersion{o.n, -1}
	}
	return m
}

// drop gives the connection back. The caller holds mu.
func (o *observer) drop() {
	if o.conn != nil {
		_ = o.conn.Close()
		o.conn = nil
	}
}

func (o *observer) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drop()
	if o.pool == nil {
		return nil
	}
	return o.pool.Close()
}

// ownWrite is the last writing transaction that is not news to the process it came
// from: the versions before and behind it, with nobody else between.
type ownWrite struct{ before, after fileVersion }

// IgnoreOwn says that this transaction is not news to its own process (see Echo).
func (tx *Tx) IgnoreOwn(ctx context.Context) {
	if tx.db.queue != nil { // the write queue keeps others out, so that the versions are about us alone
		tx.before = tx.db.observe(ctx)
		tx.ignored = true
	}
}
