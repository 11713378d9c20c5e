package store

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"sync/atomic"

	_ "modernc.org/sqlite" // the pure Go engine
)

// pragmas hold for every pooled connection. FULL: a commit that was reported
// survives a power cut (rule A5); it costs 20–50 µs here.
const pragmas = "&_pragma=busy_timeout(10000)&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)"

// openSQLite opens file with one writing connection, whose transactions take
// the write lock when they begin, and a few reading ones.
func openSQLite(file string) (*DB, error) {
	if err := ownFile(file); err != nil {
		return nil, err
	}
	dsn := "file:" + (&url.URL{Path: file}).EscapedPath() + "?"
	w, err := sql.Open("sqlite", dsn+"_txlock=immediate"+pragmas+"&_pragma=journal_mode(WAL)")
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	w.SetMaxOpenConns(1)
	r, err := sql.Open("sqlite", dsn+"_pragma=query_only(1)"+pragmas)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	r.SetMaxOpenConns(4)
	r.SetMaxIdleConns(4)
	return &DB{engine: SQLite, path: file, w: w, r: r}, nil
}

// ownFile creates file with mode 0600, so that no moment leaves it readable to
// others. An existing file keeps its mode.
func ownFile(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return f.Close()
}

var memories atomic.Int64 // names of in-memory databases must differ within a process

// openMemory opens a database that lives as long as the DB; one connection
// serves reads and writes.
func openMemory(r room) (*DB, error) {
	name := fmt.Sprintf("file:opdeck-%s-%d?mode=memory&_txlock=immediate", r, memories.Add(1))
	w, err := sql.Open("sqlite", name+pragmas)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	w.SetMaxOpenConns(1)
	w.SetMaxIdleConns(1)
	w.SetConnMaxLifetime(0)
	return &DB{engine: SQLite, w: w, r: w}, nil
}
