package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"opdeck/api/limit"
)

// Clock is the store's clock: one for all processes that share a database (rule G1), in nanoseconds since 1970. Only
// differences are exact.
type Clock interface {
	// Time reads the clock. Inside a transaction call it after the lock was acquired.
	Time(ctx context.Context, q Querier) (time.Duration, error)
	// Column is an SQL expression that reads the clock, in microseconds; Settle converts its value.
	Column() string
	Settle(us int64) time.Duration
	// Wall converts now to a time for display.
	Wall(now time.Duration) time.Time
	// Boot identifies the machine's boot for leases; see SameBoot.
	Boot() string
}

// hostClock is the clock for SQLite: the machine's boot clock, which runs during sleep and cannot be set, plus an
// offset that the first process after each boot stores, so that times stay comparable across reboots.
type hostClock struct {
	host   limit.Clock
	id     string
	offset atomic.Int64
}

// newHostClock agrees on the offset with the other processes.
func newHostClock(ctx context.Context, db *DB, host limit.Clock, boot string) (*hostClock, error) {
	c := &hostClock{host: host, id: boot}
	known, err := c.adopt(ctx, db)
	if err != nil || known {
		return c, err
	}
	return c, db.Write(ctx, func(tx *Tx) error {
		if known, err := c.adopt(ctx, tx); err != nil || known {
			return err
		}
		offset := host.Wall().UnixNano() - int64(host.Steady())
		c.offset.Store(offset)
		return tx.Exec(ctx, `INSERT INTO store_clock (id, boot, offset_ns) VALUES (1, ?, ?)
			ON CONFLICT (id) DO UPDATE SET boot = excluded.boot, offset_ns = excluded.offset_ns`, boot, offset)
	})
}

// adopt uses the stored offset if it was written since this boot.
func (c *hostClock) adopt(ctx context.Context, q Querier) (bool, error) {
	var boot string
	var offset int64
	err := q.QueryRow(ctx, "SELECT boot, offset_ns FROM store_clock WHERE id = 1").Scan(&boot, &offset)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil || !SameBoot(boot, c.id) {
		return false, err
	}
	c.offset.Store(offset)
	return true, nil
}

func (c *hostClock) read() time.Duration { return c.host.Steady() + time.Duration(c.offset.Load()) }

func (c *hostClock) Time(context.Context, Querier) (time.Duration, error) { return c.read(), nil }
func (c *hostClock) Column() string                                       { return "0" }
func (c *hostClock) Settle(int64) time.Duration                           { return c.read() }
func (c *hostClock) Wall(time.Duration) time.Time                         { return c.host.Wall() }
func (c *hostClock) Boot() string                                         { return c.id }

// serverClock serves PostgreSQL: the database's own clock.
type serverClock struct{}

const serverMicros = "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::BIGINT"

func (c *serverClock) Time(ctx context.Context, q Querier) (time.Duration, error) {
	var us int64
	if err := q.QueryRow(ctx, "SELECT "+serverMicros).Scan(&us); err != nil {
		return 0, err
	}
	return c.Settle(us), nil
}

func (c *serverClock) Column() string { return serverMicros }

func (c *serverClock) Settle(us int64) time.Duration {
	return time.Duration(us) * time.Microsecond
}

func (c *serverClock) Wall(now time.Duration) time.Time { return time.Unix(0, int64(now)) }
func (c *serverClock) Boot() string                     { return "" }

// beganAt is the prefix of a boot id made from the time of the boot, in Unix seconds, on a system without ids.
const beganAt = "began "

// SameBoot compares two boot ids. Those made from times may differ slightly, because two clocks are read one after
// the other and the time of day gets corrected.
func SameBoot(a, b string) bool {
	if a == b {
		return true
	}
	x, okA := strings.CutPrefix(a, beganAt)
	y, okB := strings.CutPrefix(b, beganAt)
	if !okA || !okB {
		return false
	}
	m, err1 := strconv.ParseInt(x, 10, 64)
	n, err2 := strconv.ParseInt(y, 10, 64)
	return err1 == nil && err2 == nil && max(m-n, n-m) < 120
}

// systemClock is the machine's clock for the store.
type systemClock struct{ steady func() time.Duration }

func (c systemClock) Wall() time.Time       { return time.Now().Round(0) }
func (c systemClock) Steady() time.Duration { return c.steady() }

// openClock returns the clock of db.
func openClock(ctx context.Context, db *DB) (Clock, error) {
	if db.engine == Postgres {
		return &serverClock{}, nil
	}
	steady, boot, err := bootClock()
	if err != nil {
		return nil, fmt.Errorf("store: boot clock: %w", err)
	}
	return newHostClock(ctx, db, systemClock{steady}, boot)
}

// A process can mark each of its instances with a kernel lock on one byte of a SQLite file's lock file, so that
// others know at once when it has ended.

// MarkRunning marks an instance of this process as running until the process ends; false if that is not supported.
func (db *DB) MarkRunning(instance string) bool {
	if db.queue == nil || !canMark {
		return false
	}
	if _, done := db.running.Load(instance); done {
		return true
	}
	ok := markByte(db.queue.file, byteOf(instance))
	if ok {
		db.running.Store(instance, true)
	}
	return ok
}

// Running reports whether a marked instance is still running; known is false if that is not supported.
func (db *DB) Running(instance string, marked bool) (running, known bool) {
	if _, ours := db.running.Load(instance); ours {
		return true, true
	}
	if !marked || db.queue == nil || !canMark {
		return false, false
	}
	return byteMarked(db.queue.file, byteOf(instance)), true
}

// byteOf is the byte for an instance.
func byteOf(instance string) int64 {
	sum := sha256.Sum256([]byte("instance\x00" + instance))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 2)
}
