package store

import (
	"context"
	"time"
)

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
// limit.ToWall. Both databases of a Store have the same time. Inside a transaction use Tx.Now.
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
