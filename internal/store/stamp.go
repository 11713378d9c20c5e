package store

import (
	"context"
	"database/sql"
	"sync"
)

// Version is a stamp of the databases of a Store: equal stamps mean that nothing was written in between.
type Version struct{ core, bulk fileVersion }

// Index is the part of the stamp for the bulk database, which holds the index and the webhooks.
func (s Version) Index() Version { return Version{bulk: s.bulk} }

// HasVersions reports whether the store has stamps: not with PostgreSQL, where they would cost a query, and not in
// memory.
func (s *Store) HasVersions() bool { return s.Core.engine == SQLite && s.Core.path != "" }

// Version reads the stamp of both databases in some 10 µs (BenchmarkStamp); ok is false without stamps.
func (s *Store) Version(ctx context.Context) (st Version, ok bool) {
	if !s.HasVersions() {
		return st, false
	}
	return Version{s.Core.observe(ctx), s.Bulk.observe(ctx)}, true
}

// OwnWrites is the stamp after st if only a heartbeat of this process was written since, which is not news to it;
// else st itself.
func (s *Store) OwnWrites(st Version) Version {
	if e := s.Core.ownWrite.Load(); e != nil && e.before == st.core {
		st.core = e.after
	}
	return st
}

// fileVersion is an observer's version: if two are equal, no one committed in between.
type fileVersion struct {
	observer int64 // the observer's number; versions of two observers are not comparable
	version  int64 // SQLite's data_version
}

// observer is a connection that never writes, so that SQLite reports every commit of all other connections and
// processes to it.
type observer struct {
	pool *sql.DB // separate, so that a writer never waits for readers
	mu   sync.Mutex
	conn *sql.Conn // guarded by mu; nil: not open
	n    int64     // guarded by mu: connections opened so far
}

// observe reads the version of a SQLite file. An unreadable one differs from all others.
func (db *DB) observe(ctx context.Context) fileVersion {
	o := &db.observer
	o.mu.Lock()
	defer o.mu.Unlock()
	if db.identity.check(true) != nil { // differs from every version, so the reader polls and gets the error
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

// drop closes the connection. The caller holds mu.
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

// ownWrite is the last writing transaction that is not news to its own process: the versions before and after it,
// with no other write in between.
type ownWrite struct{ before, after fileVersion }

// IgnoreOwn marks this transaction as not news to its own process (see OwnWrites).
func (tx *Tx) IgnoreOwn(ctx context.Context) {
	if tx.db.queue != nil { // the write queue excludes others, so that the versions are only about us
		tx.before = tx.db.observe(ctx)
		tx.ignored = true
	}
}
