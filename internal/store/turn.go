package store

import (
	"context"
	"time"
)

// TakeTurn gives the caller the work of that name unless it was done within every, or
// another process is at it; until TakeTurn or EndTurn is called again the turn lasts
// for lease. A caller that has the turn prolongs it.
func (s *Store) TakeTurn(ctx context.Context, name, owner string, every, lease time.Duration) (mine bool, err error) {
	err = s.Core.WriteUnsynced(ctx, func(tx *Tx) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		if err := tx.Exec(ctx, "INSERT INTO turn (name, owner, until_us, done_us) VALUES (?, '', 0, 0) "+
			"ON CONFLICT (name) DO NOTHING", name); err != nil {
			return err
		}
		at := now.UnixMicro() // what lies further ahead than it can is of a clock that was set back
		n, err := Affected(tx.Result(ctx, `UPDATE turn SET owner = ?, until_us = ? WHERE name = ?
			AND (owner = ? OR (owner = '' OR until_us <= ? OR until_us > ?) AND (done_us <= ? OR done_us > ?))`,
			owner, now.Add(lease).UnixMicro(), name, owner, at, now.Add(lease).UnixMicro(), now.Add(-every).UnixMicro(), at))
		mine = n == 1
		return err
	})
	return mine, err
}

// EndTurn gives the turn back; done says that the work need not be done again soon.
func (s *Store) EndTurn(ctx context.Context, name, owner string, done bool) error {
	return s.Core.WriteUnsynced(ctx, func(tx *Tx) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		return tx.Exec(ctx, "UPDATE turn SET owner = '', until_us = 0, done_us = CASE WHEN ? = 1 THEN ? ELSE done_us END "+
			"WHERE name = ? AND owner = ?", Bit(done), now.UnixMicro(), name, owner)
	})
}
