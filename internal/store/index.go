package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
)

// OperationIndex is the index of one machine account's operations in the bulk
// database; it implements index.Store.
type OperationIndex struct {
	db     *DB
	q      Querier // what questions are asked of: db, or one snapshot of it
	now    func(ctx context.Context, q Querier) (time.Duration, error)
	scope  int64
	engine filter.Engine
	*indexCache
}

// indexCache is what an index and its snapshots remember in common.
type indexCache struct {
	mu      sync.Mutex
	parties map[string]int64  // guarded by mu; committed parties by their texts
	kinds   map[kindKey]int64 // guarded by mu; committed kinds; they are never deleted
	loaded  []kind            // guarded by mu; as of loadedAt
	version int64             // guarded by mu; index version of loaded
}

var _ index.Store = (*OperationIndex)(nil)

// Index opens the index of a service's machine account; baseURL and account are
// its name and nothing is sent there.
func (s *Store) Index(ctx context.Context, baseURL, account string) (*OperationIndex, error) {
	clock, err := openClock(ctx, s.Core)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	x := &OperationIndex{db: s.Bulk, q: s.Bulk, now: clock.now, engine: filter.SQLite,
		indexCache: &indexCache{parties: map[string]int64{}, kinds: map[kindKey]int64{}, version: -1}}
	if x.postgres() {
		x.engine = filter.Postgres
	}
	if err := x.tune(ctx); err != nil {
		return nil, err
	}
	const known = "SELECT n FROM index_scope WHERE base_url = ? AND account = ?"
	err = s.Bulk.QueryRow(ctx, known, baseURL, account).Scan(&x.scope)
	if err == nil {
		return x, x.fillShown(ctx)
	}
	err = s.Bulk.Write(ctx, func(tx *Tx) error {
		if err := x.lock(ctx, tx); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, known, baseURL, account).Scan(&x.scope)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := tx.QueryRow(ctx, "SELECT COALESCE(MAX(n), 0) + 1 FROM index_scope").Scan(&x.scope); err != nil {
			return err
		}
		if _, err = tx.Exec(ctx, "INSERT INTO index_scope (n, base_url, account) VALUES (?, ?, ?)", x.scope, baseURL, account); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "INSERT INTO index_meta (scope, name, value) VALUES (?, ?, ?) ON CONFLICT (scope, name) DO NOTHING", x.scope, shownName, shownVersion)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return x, nil
}

// WithClock is the index with another clock than the store's, for programs whose
// time is not the machine's.
func (x *OperationIndex) WithClock(now func() time.Time) *OperationIndex {
	y := *x
	y.now = func(context.Context, Querier) (time.Duration, error) { return time.Duration(now().UnixNano()), nil }
	return &y
}

func (x *OperationIndex) postgres() bool { return x.db.engine == Postgres }

// tune gives the one writing connection of SQLite room for the pages of a batch
// (48 MB at most, taken as needed) and lets the log grow to as much before it is
// copied back: a batch touches many pages of many indexes.
func (x *OperationIndex) tune(ctx context.Context) error {
	if x.postgres() || x.db.path == "" {
		return nil
	}
	for _, pragma := range []string{"PRAGMA cache_size = -49152", "PRAGMA wal_autocheckpoint = 12000"} {
		if _, err := x.db.w.ExecContext(ctx, pragma); err != nil {
			return x.db.explain(err)
		}
	}
	return nil
}

// indexLock is an arbitrary number: one writer of index tables at a time, as in
// SQLite, so that sums and numbers need no finer care.
const indexLock = 0x6f70696478

func (x *OperationIndex) lock(ctx context.Context, tx *Tx) error {
	if !x.postgres() {
		return nil
	}
	_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(?)", int64(indexLock))
	return err
}

const versionName = "version"

// Version grows with every change that any process makes.
func (x *OperationIndex) Version(ctx context.Context) (int64, error) {
	s, err := x.Meta(ctx, versionName)
	if err != nil || s == "" {
		return 0, err
	}
	return strconv.ParseInt(s, 10, 64)
}

func (x *OperationIndex) bump(ctx context.Context, tx *Tx) error {
	_, err := tx.Exec(ctx, `INSERT INTO index_meta (scope, name, value) VALUES (?, ?, '1')
		ON CONFLICT (scope, name) DO UPDATE SET value = CAST(CAST(index_meta.value AS BIGINT) + 1 AS TEXT)`, x.scope, versionName)
	return err
}

// Meta reads a small fact; "" when there is none.
func (x *OperationIndex) Meta(ctx context.Context, name string) (string, error) {
	var v string
	err := x.q.QueryRow(ctx, "SELECT value FROM index_meta WHERE scope = ? AND name = ?", x.scope, name).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return v, err
}

// SetMeta writes a small fact.
func (x *OperationIndex) SetMeta(ctx context.Context, name, value string) error {
	_, err := x.db.Exec(ctx, `INSERT INTO index_meta (scope, name, value) VALUES (?, ?, ?)
		ON CONFLICT (scope, name) DO UPDATE SET value = excluded.value`, x.scope, name, value)
	return err
}

// Lease takes or prolongs a lease: compare and swap in one statement.
func (x *OperationIndex) Lease(ctx context.Context, name, owner string, now time.Time, ttl time.Duration) (bool, error) {
	res, err := x.db.Exec(ctx, `INSERT INTO index_meta (scope, name, value, owner, until_us) VALUES (?, ?, '', ?, ?)
		ON CONFLICT (scope, name) DO UPDATE SET owner = excluded.owner, until_us = excluded.until_us
		WHERE index_meta.owner = excluded.owner OR index_meta.owner = '' OR index_meta.until_us <= ? OR index_meta.until_us > excluded.until_us`,
		x.scope, "lease:"+name, owner, now.Add(ttl).UnixMicro(), now.UnixMicro())
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// Release gives a lease back if owner holds it.
func (x *OperationIndex) Release(ctx context.Context, name, owner string) error {
	_, err := x.db.Exec(ctx, "UPDATE index_meta SET owner = '', until_us = 0 WHERE scope = ? AND name = ? AND owner = ?", x.scope, "lease:"+name, owner)
	return err
}

// marks is "?, ?, …" for n arguments.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// chunks calls f with pieces of at most n.
func chunks[T any](list []T, n int, f func([]T) error) error {
	for len(list) > 0 {
		k := min(n, len(list))
		if err := f(list[:k]); err != nil {
			return err
		}
		list = list[k:]
	}
	return nil
}

// inserter writes rows, to PostgreSQL many at a time; statements of the full
// size are prepared once a transaction. SQLite is asked for one row at a time: a
// statement that inserts many keeps a journal to be undone by itself, which costs
// more than the calls do.
type inserter struct {
	tx    *Tx
	head  string // INSERT INTO t (a, b)
	width int
	rows  []any
	full  *sql.Stmt
}

func (in *inserter) atOnce() int {
	if in.tx.Engine() == SQLite {
		return 1
	}
	return 40
}

func (in *inserter) add(ctx context.Context, row ...any) error {
	in.rows = append(in.rows, row...)
	if len(in.rows) < in.atOnce()*in.width {
		return nil
	}
	if in.full == nil {
		st, err := in.tx.tx.PrepareContext(ctx, in.tx.db.bind(in.text(in.atOnce())))
		if err != nil {
			return in.tx.db.explain(err)
		}
		in.full = st
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := in.full.ExecContext(context.WithoutCancel(ctx), in.rows...) // a context that can end costs a goroutine a row
	in.rows = in.rows[:0]
	return in.tx.db.explain(err)
}

func (in *inserter) text(rows int) string {
	one := "(" + marks(in.width) + "), "
	return in.head + " VALUES " + strings.TrimSuffix(strings.Repeat(one, rows), ", ")
}

func (in *inserter) flush(ctx context.Context) error {
	if in.full != nil {
		defer in.full.Close()
	}
	if len(in.rows) == 0 {
		return nil
	}
	_, err := in.tx.Exec(ctx, in.text(len(in.rows)/in.width), in.rows...)
	in.rows = in.rows[:0]
	return err
}
