// Package opindex stores the index of operations in the bulk database and queries it: a filter becomes one condition,
// a list is one SELECT with an order, a total is one GROUP BY.
package opindex

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/store"
)

// Store is the index of one machine account's operations in the bulk database; it
// implements index.Store.
type Store struct {
	db    *store.DB
	q     store.Querier // source of queries: db or one snapshot of it
	scope int64
	dialect
}

// dialect is what differs between the engines. SQLite does not know how many rows a condition leaves, and takes an
// index where all rows in their own order are quicker: of 100,000, 150 ms instead of 20.
type dialect struct {
	filter.Engine
	scan    string // after a table: check all rows
	newest  string // after index_op: check the rows in the order of time
	texts   string // SELECT of the elements of one argument, a JSON array
	numbers string
}

var (
	sqlite = dialect{filter.SQLite, " NOT INDEXED", " INDEXED BY index_op_created", "SELECT value FROM json_each(?)",
		"SELECT value FROM json_each(?)"}
	postgres = dialect{filter.Postgres, "", "", "SELECT jsonb_array_elements_text(CAST(? AS jsonb))",
		"SELECT CAST(jsonb_array_elements_text(CAST(? AS jsonb)) AS BIGINT)"}
)

var _ index.Store = (*Store)(nil)

// New opens the index of a service's machine account in bulk; baseURL and account identify it. Nothing is sent.
func New(ctx context.Context, bulk *store.DB, baseURL, account string) (*Store, error) {
	x := &Store{db: bulk, q: bulk, dialect: sqlite}
	if bulk.Engine() == store.Postgres {
		x.dialect = postgres
	}
	// A batch touches many pages of many indexes: a cache of up to 48 MB, and a log of that size before a checkpoint.
	if err := bulk.Tune(ctx, "PRAGMA cache_size = -49152", "PRAGMA wal_autocheckpoint = 12000"); err != nil {
		return nil, err
	}
	var err error
	if x.scope, _, err = store.Find[int64](ctx, bulk, "SELECT n FROM index_scope WHERE base_url = ? AND account = ?",
		baseURL, account); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	if x.scope > 0 {
		return x, nil
	}
	err = bulk.Write(ctx, func(tx *store.Tx) (err error) {
		if x.scope, err = tx.Scope(ctx, "index_scope", baseURL, account, writeLock); err != nil {
			return err
		}
		return tx.Exec(ctx, setMeta, x.scope, derivedName, rule())
	})
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return x, nil
}

// Now is the time of the store's clock.
func (x *Store) Now(ctx context.Context) (time.Time, error) { return x.q.Now(ctx) }

// Snapshot runs fn with the index in one state, for any number of queries.
func (x *Store) Snapshot(ctx context.Context, fn func(index.Store) error) error {
	if x.q != store.Querier(x.db) { // already a snapshot
		return fn(x)
	}
	return x.db.Snapshot(ctx, func(q store.Querier) error {
		at := *x
		at.q = q
		return fn(&at)
	})
}

// writeLock is an arbitrary lock number: one writer of index tables at a time, as in SQLite, so that sums and numbers
// need no further locks.
const writeLock = 0x6f70696478

const versionName = "version"

// Version increases with every change by any process.
func (x *Store) Version(ctx context.Context) (int64, error) {
	s, err := x.Meta(ctx, versionName)
	if err != nil || s == "" {
		return 0, err
	}
	return strconv.ParseInt(s, 10, 64)
}

func (x *Store) bump(ctx context.Context, tx *store.Tx) error {
	return tx.Exec(ctx, `INSERT INTO index_meta (scope, name, value) VALUES (?, ?, '1')
		ON CONFLICT (scope, name) DO UPDATE SET value = CAST(CAST(index_meta.value AS BIGINT) + 1 AS TEXT)`,
		x.scope, versionName)
}

// Meta reads a small fact; "" if there is none.
func (x *Store) Meta(ctx context.Context, name string) (string, error) {
	v, _, err := store.Find[string](ctx, x.q, "SELECT value FROM index_meta WHERE scope = ? AND name = ?", x.scope, name)
	return v, err
}

// SetMeta writes a small fact.
func (x *Store) SetMeta(ctx context.Context, name, value string) error {
	return x.db.Exec(ctx, setMeta, x.scope, name, value)
}

const setMeta = `INSERT INTO index_meta (scope, name, value) VALUES (?, ?, ?)
	ON CONFLICT (scope, name) DO UPDATE SET value = excluded.value`

// Lease takes or renews a lease by a compare-and-swap in one statement.
func (x *Store) Lease(ctx context.Context, name, owner, over string, now time.Time, ttl time.Duration) (bool, error) {
	n, err := store.Affected(x.db.Result(ctx, `INSERT INTO index_meta (scope, name, value, owner, until_us)
		VALUES (?, ?, '', ?, ?)
		ON CONFLICT (scope, name) DO UPDATE SET owner = excluded.owner, until_us = excluded.until_us
		WHERE index_meta.owner IN (excluded.owner, '', ?) OR index_meta.until_us <= ?
		OR index_meta.until_us > excluded.until_us`,
		x.scope, leasePrefix+name, owner, now.Add(ttl).UnixMicro(), over, now.UnixMicro()))
	return n == 1, err
}

const leasePrefix = "lease:"

// Leased returns the holder of a lease.
func (x *Store) Leased(ctx context.Context, name string) (index.Lease, error) {
	var owner string
	var until int64
	err := x.q.QueryRow(ctx, "SELECT owner, until_us FROM index_meta WHERE scope = ? AND name = ?",
		x.scope, leasePrefix+name).Scan(&owner, &until)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && until == 0:
		return index.Lease{}, nil
	case err != nil:
		return index.Lease{}, err
	}
	return index.Lease{Owner: owner, Until: time.UnixMicro(until)}, nil
}

// Release releases a lease if owner holds it.
func (x *Store) Release(ctx context.Context, name, owner string) error {
	return x.db.Exec(ctx, "UPDATE index_meta SET owner = '', until_us = 0 WHERE scope = ? AND name = ? AND owner = ?",
		x.scope, leasePrefix+name, owner)
}

func cond(sql string, args ...any) filter.Cond { return filter.Cond{SQL: sql, Args: args} }
