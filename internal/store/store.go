// Package store stores everything that opdeck's processes share: the session and its budgets, audit, approvals and
// journals (the core database), and the index of operations with the inbox of webhooks (the bulk database).
//
// There are two engines: SQLite for one host (two files, so that a bulk write never holds the lock that a session
// rotation waits for) and PostgreSQL for many (one database). Queries are written once, with "?" for arguments; only
// this package knows the differences between the engines. Packages that own a subject declare a Store interface; the
// implementations are in packages below this one, and pass the owner's suite on both engines.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"opdeck/internal/store/files"
	"opdeck/internal/system/wholefile"
)

// Options say where the databases are.
type Options struct {
	// URL is "sqlite" (two files in Dir), "sqlite:PATH" (the core file; the bulk file is beside it), "memory"
	// (nothing is kept), or a postgres:// URL.
	URL string
	// Dir is the state folder; it is created with mode 0700 if missing.
	Dir string
	// Upgrading is called before tables of an older program are changed, which takes a while for large ones; may be
	// nil.
	Upgrading func()
	// Notice gets a sentence when a caller waits for more than two seconds; may be nil. It is called from any
	// goroutine.
	Notice func(string)
	// KeepVersion makes an older store an error of kind Older instead of migrating it; nothing is changed.
	KeepVersion bool
	// Now replaces the store's clock (DB.Now), for tests and for programs with a time of their own; nil: the store's
	// clock.
	Now func() time.Time

	// Migrations replaces the program's migrations in tests; nil: the program's.
	Migrations fs.FS

	system func(dir string) (string, error) // for tests: the remote file system of dir
}

// Store holds the two databases. With PostgreSQL both are the same.
type Store struct {
	Core *DB
	Bulk *DB

	watching watchers
}

// Open opens and migrates the databases. Any number of processes may do so concurrently; one of them migrates. It
// first completes a replacement of the files that was interrupted (Replace).
func Open(ctx context.Context, opt Options) (*Store, error) {
	s, err := openURL(ctx, opt)
	for err == nil && s.Core.path != "" && replacing(s.Core.path) { // it began while the files were opened
		if err = s.Close(); err == nil {
			s, err = openURL(ctx, opt)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.Core.identity.opened(), s.Bulk.identity.opened(), s.readClocks(ctx, opt.Now)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenAsIs opens the files of a SQLite store of any version, to copy them.
func OpenAsIs(ctx context.Context, core string) (*Store, error) {
	s := new(Store)
	var err error
	if s.Core, err = openSQLite(ctx, core, nil); err != nil {
		return nil, err
	}
	if s.Bulk, err = openSQLite(ctx, bulkPath(core), nil); err != nil {
		return nil, errors.Join(err, s.Core.Close())
	}
	return s, nil
}

func openURL(ctx context.Context, opt Options) (*Store, error) {
	if core, ok := corePath(opt.URL, opt.Dir); ok {
		return openFiles(ctx, core, opt)
	}
	switch {
	case opt.URL == "memory":
		return openPair(ctx, opt, openMemory)
	case strings.HasPrefix(opt.URL, "postgres://"), strings.HasPrefix(opt.URL, "postgresql://"):
		return openPair(ctx, opt, func(tableSet) (*DB, error) { return openPostgres(opt.URL, opt.Notice) })
	}
	return nil, fmt.Errorf("store: %q is not sqlite, sqlite:PATH or postgres://…", redactURL(opt.URL))
}

// corePath is the core file of a SQLite store; ok is false for another store.
func corePath(url, dir string) (core string, ok bool) {
	if url == "" || url == "sqlite" {
		return filepath.Join(dir, "opdeck.db"), true
	}
	return strings.CutPrefix(url, "sqlite:")
}

// bulkPath is the bulk file beside a core file.
func bulkPath(core string) string { return strings.TrimSuffix(core, ".db") + "-index.db" }

// Close closes both databases.
func (s *Store) Close() error {
	var errs []error
	if s.Bulk != s.Core {
		errs = append(errs, s.Bulk.Close())
	}
	if s.Core != nil {
		errs = append(errs, s.Core.Close())
	}
	return errors.Join(errs...)
}

// openFiles checks the folder before it opens or creates anything in it.
func openFiles(ctx context.Context, core string, opt Options) (*Store, error) {
	dir := filepath.Dir(core)
	if err := files.RefuseNetworkDisk(dir, opt.system); err != nil {
		return nil, fileError(dir, err)
	}
	if err := files.OwnFolder(dir); err != nil {
		return nil, fileError(dir, err)
	}
	if err := Resume(ctx, core); err != nil {
		return nil, err
	}
	wholefile.Sweep(dir)
	bulk := bulkPath(core)
	open := func(r tableSet) (*DB, error) {
		if r == coreTables {
			return openSQLite(ctx, core, opt.Notice)
		}
		return openIndex(ctx, bulk, opt.Notice)
	}
	s, err := openPair(ctx, opt, open)
	if IsKind(err, IndexDamaged) { // it is marked now
		s, err = openPair(ctx, opt, open)
	}
	return s, err
}

// openPair opens and migrates both databases; with PostgreSQL they are one.
func openPair(ctx context.Context, opt Options, open func(tableSet) (*DB, error)) (*Store, error) {
	s := new(Store)
	if opt.Upgrading != nil {
		opt.Upgrading = sync.OnceFunc(opt.Upgrading) // for both sets
	}
	for _, r := range []tableSet{coreTables, bulkTables} {
		db := s.Core
		if db == nil || db.engine == SQLite {
			var err error
			if db, err = open(r); err != nil {
				return nil, errors.Join(err, s.Close())
			}
		}
		if s.Core == nil {
			s.Core = db
		}
		s.Bulk = db
		if err := db.migrate(ctx, r, opt); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// checkEvery is the greatest age of a check for a read. Writes check before they begin and after their commit.
const checkEvery = time.Second

// identity detects that a SQLite file or its write-ahead log is no longer the one that this process opened: SQLite
// keeps writing to a deleted or replaced file, and those writes are lost.
type identity struct {
	path string

	mu      sync.Mutex  // guards the fields below
	main    fs.FileInfo // as opened; nil: not checked
	log     fs.FileInfo // as opened; nil: not yet
	checked time.Time
	filled  bool   // the main file was seen with content
	lost    *Error // nil: not lost; else permanent
}

// begin records the file that is about to be opened.
func (id *identity) begin(path string) error {
	if runtime.GOOS == "windows" { // an open file cannot be deleted or replaced there
		return nil
	}
	main, err := os.Lstat(path)
	if err != nil {
		return fileError(path, err)
	}
	id.mu.Lock()
	defer id.mu.Unlock()
	id.path, id.main = path, main
	return nil
}

// opened records the write-ahead log, which exists while a connection is open.
func (id *identity) opened() error {
	id.mu.Lock()
	if id.main != nil && id.log == nil {
		id.log, _ = os.Lstat(id.path + "-wal")
	}
	id.mu.Unlock()
	return id.check(true)
}

// check returns an *Error of kind Lost if a file is not the one that was opened. Without now, a check within the last
// second is reused.
func (id *identity) check(now bool) error {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.main != nil && id.lost == nil && (now || time.Since(id.checked) >= checkEvery) {
		id.checked = time.Now()
		id.lost = id.compare()
	}
	if id.lost != nil {
		return id.lost
	}
	return nil
}

// compare checks both paths. The caller holds mu.
func (id *identity) compare() *Error {
	for _, f := range []struct {
		name   string
		opened fs.FileInfo
	}{{id.path, id.main}, {id.path + "-wal", id.log}} {
		if f.opened == nil {
			continue
		}
		now, err := os.Lstat(f.name)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotDir):
			return &Error{Kind: Lost, Where: f.name, text: "was deleted or moved away"}
		case err != nil:
			return &Error{Kind: Lost, Where: f.name, Err: err, text: "cannot be checked any more (" + plain(err) + ")"}
		case !os.SameFile(now, f.opened):
			return &Error{Kind: Lost, Where: f.name, text: "was replaced by another file"}
		case f.name == id.path && now.Size() == 0 && id.filled:
			return &Error{Kind: Lost, Where: f.name, text: "was emptied"}
		}
		id.filled = id.filled || f.name == id.path && now.Size() > 0
	}
	return nil
}

// Lost returns an *Error of kind Lost once a file of the store was deleted or replaced, else nil. The process must
// then be restarted.
func (s *Store) Lost() error {
	if err := s.Core.identity.check(false); err != nil {
		return err
	}
	return s.Bulk.identity.check(false)
}

// WatchLost waits until a file of the store is lost, polling every two seconds, and returns the error; nil if ctx
// ends first.
func (s *Store) WatchLost(ctx context.Context) error {
	tick := time.NewTicker(2 * checkEvery)
	defer tick.Stop()
	for {
		if err := s.Lost(); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

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

// timeSource is the source of a DB's Now.
type timeSource struct {
	clock Clock
	fake  func() time.Time // Options.Now; nil: clock
}

// Now is the store's time in UTC, the only clock for times of different processes or hosts (session protocol, rules
// G1 and G3). Use it for leases, expiry and "last seen" times, never time.Now.
//
//   - PostgreSQL: the server's clock, one round trip. All hosts read the same one. It steps only when someone sets it.
//   - SQLite and in memory: the machine's boot clock, which cannot be set and runs during sleep, plus an offset shared
//     by all processes since the boot. It never goes back while the machine is up, and needs one query only. After a
//     reboot it starts at the time of day, which may be before the last stored time.
//
// So differences are exact until a reboot; cut a stored time in the future to Now, and a stored end to Now plus its
// whole length (rule G3). The value is near the time of day but need not equal it: show ages to people, or use
// limit.Moved. Both databases of a Store have the same time. Inside a transaction use Tx.Now.
func (db *DB) Now(ctx context.Context) (time.Time, error) { return db.nowOn(ctx, db) }

// Now is DB.Now on the transaction's connection, after its locks.
func (tx *Tx) Now(ctx context.Context) (time.Time, error) { return tx.db.nowOn(ctx, tx) }

func (db *DB) nowOn(ctx context.Context, q Querier) (time.Time, error) {
	if db.source.fake != nil {
		return db.source.fake().UTC(), nil
	}
	now, err := db.source.clock.Time(ctx, q)
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(0, int64(now)).UTC(), nil
}

// Clock is the clock behind Now, regardless of Options.Now.
func (db *DB) Clock() Clock { return db.source.clock }

// readClocks sets the clock of the core database for both databases.
func (s *Store) readClocks(ctx context.Context, fake func() time.Time) error {
	c, err := openClock(ctx, s.Core)
	if err != nil {
		return err
	}
	s.Core.source = timeSource{c, fake}
	s.Bulk.source = s.Core.source
	return nil
}

// slowAfter is how long a store may keep its caller waiting before a notice; noticeGap is the least time between two
// notices of one database.
const (
	slowAfter = 2 * time.Second
	noticeGap = 15 * time.Second
)

// notices reports to people what a store waits for.
type notices struct {
	send func(string) // nil: no notices

	mu   sync.Mutex
	last time.Time // guarded by mu
}

// notice reports a sentence, unless the last notice was recent.
func (db *DB) notice(sentence string) {
	n := &db.notices
	if n.send == nil {
		return
	}
	n.mu.Lock()
	due := time.Since(n.last) >= noticeGap
	if due {
		n.last = time.Now()
	}
	n.mu.Unlock()
	if due {
		n.send(sentence)
	}
}

// slow reports the cause if a call takes long; stop must be called when the call ends.
func (db *DB) slow() (stop func()) {
	if db.notices.send == nil {
		return func() {}
	}
	t := time.AfterFunc(slowAfter, func() {
		why := ", which another process has locked. Check which program has it open."
		if db.engine == Postgres {
			why = ", which has not answered yet."
		}
		db.notice("Waiting for " + db.where() + why)
	})
	return func() { t.Stop() }
}

// Lock excludes other transactions with the same number until this one ends. SQLite admits one writer at a time
// anyway.
func (tx *Tx) Lock(ctx context.Context, number int64) error {
	if tx.Engine() == SQLite {
		return nil
	}
	return tx.Exec(ctx, "SELECT pg_advisory_xact_lock(?)", number)
}

// Scope returns the number of a machine account in a table of scopes (n, base_url, account). A new account gets the
// next number, under a lock.
func (tx *Tx) Scope(ctx context.Context, table, baseURL, account string, lock int64) (int64, error) {
	known := "SELECT n FROM " + table + " WHERE base_url = ? AND account = ?"
	n, found, err := Find[int64](ctx, tx, known, baseURL, account)
	if found || err != nil {
		return n, err
	}
	if err := tx.Lock(ctx, lock); err != nil {
		return 0, err
	}
	if n, found, err = Find[int64](ctx, tx, known, baseURL, account); found || err != nil { // created while we waited
		return n, err
	}
	if err := tx.QueryRow(ctx, "SELECT COALESCE(MAX(n), 0) + 1 FROM "+table).Scan(&n); err != nil {
		return 0, err
	}
	return n, tx.Exec(ctx, "INSERT INTO "+table+" (n, base_url, account) VALUES (?, ?, ?)", n, baseURL, account)
}
