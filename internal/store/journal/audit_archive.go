package journal

import (
	"context"

	"opdeck/internal/domain/audit"
	"opdeck/internal/store"
)

// Segments returns the segments of the archive, oldest first.
func (s *Audit) Segments(ctx context.Context) ([]audit.Segment, error) { return segments(ctx, s.db) }

func segments(ctx context.Context, q store.Querier) ([]audit.Segment, error) {
	return store.List(ctx, q, func(scan store.Scan) (g audit.Segment, err error) {
		var at int64
		err = scan(&g.First, &g.Last, &g.Hash, &at, &g.File, &g.Folder, &g.Host)
		g.At = fromMicros(at)
		return g, err
	}, "SELECT first, last, hash, at_us, file, folder, host FROM audit_segment ORDER BY first")
}

// Archive records a segment, which must follow the last one.
func (s *Audit) Archive(ctx context.Context, g audit.Segment) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		return tx.Exec(ctx, "INSERT INTO audit_segment (first, last, hash, at_us, file, folder, host) VALUES "+
			"(?, ?, ?, ?, ?, ?, ?)", g.First, g.Last, g.Hash, g.At.UnixMicro(), g.File, g.Folder, g.Host)
	})
}

// noLongerNeeded selects archived records up to a seq, except intents without an outcome, acts in doubt with their
// outcomes, and the newest checkpoint of each key.
const noLongerNeeded = `SELECT a.seq FROM audit a WHERE a.seq <= ?
	AND NOT EXISTS (SELECT 1 FROM audit_open o WHERE o.uid = a.uid)
	AND NOT EXISTS (SELECT 1 FROM unsettled u WHERE u.ref = a.uid OR u.ref = a.ref)
	AND NOT EXISTS (SELECT 1 FROM audit_signed c WHERE c.n = a.seq)
	ORDER BY a.seq LIMIT ?`

// DropArchived implements audit.Store.
func (s *Audit) DropArchived(ctx context.Context, limit int) (n int, err error) {
	err = s.db.WriteIdle(ctx, func(tx *store.Tx) error {
		list, err := segments(ctx, tx)
		if err != nil || len(list) == 0 {
			return err
		}
		last := list[len(list)-1].Last
		rows, err := store.Affected(tx.Result(ctx, "DELETE FROM audit WHERE seq IN ("+noLongerNeeded+")", last, limit))
		if err != nil {
			return err
		}
		nodes, err := s.dropNodes(ctx, tx, last, limit)
		n = int(rows + nodes)
		return err
	})
	return n, err
}

// dropNodes removes hashes of the tree that no needed edge uses.
func (s *Audit) dropNodes(ctx context.Context, tx *store.Tx, last int64, limit int) (int64, error) {
	ends, err := store.List(ctx, tx, store.Value[int64], "SELECT n FROM audit_signed WHERE n < ?", last)
	if err != nil {
		return 0, err
	}
	args := []any{last}
	for _, n := range append(ends, last) {
		for _, seq := range audit.EdgeSeqs(n) {
			args = append(args, seq)
		}
	}
	return store.Affected(tx.Result(ctx, "DELETE FROM audit_tree WHERE seq IN (SELECT seq FROM audit_tree WHERE seq <= ? "+
		"AND seq NOT IN ("+store.Marks(len(args)-1)+") ORDER BY seq LIMIT ?)", append(args, limit)...))
}
