package journal

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"opdeck/internal/domain/audit"
	"opdeck/internal/store"
)

// treeHashes reads the stored hashes of the records in seqs.
func treeHashes(ctx context.Context, q store.Querier, seqs []int64) (map[int64][]byte, error) {
	out := make(map[int64][]byte, len(seqs))
	err := store.EachIn(ctx, q, seqs, func(scan store.Scan) error {
		var seq int64
		var hashes []byte
		err := scan(&seq, &hashes)
		out[seq] = hashes
		return err
	}, "SELECT seq, hashes FROM audit_tree WHERE seq IN")
	return out, err
}

func putNode(ctx context.Context, tx *store.Tx, n audit.Node) error {
	return tx.Exec(ctx,
		"INSERT INTO audit_tree (seq, hashes) VALUES (?, ?) ON CONFLICT (seq) DO UPDATE SET hashes = excluded.hashes", n.Seq,
		n.Hashes)
}

func putCheckpoint(ctx context.Context, tx *store.Tx, p audit.StoredCheckpoint) error {
	return tx.Exec(ctx, `INSERT INTO audit_signed (key, n, note) VALUES (?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET n = excluded.n, note = excluded.note WHERE excluded.n > audit_signed.n`,
		p.Key, p.N, p.Note)
}

// Nodes returns the stored hashes of the tree by Seq.
func (s *Audit) Nodes(ctx context.Context, seqs []int64) (map[int64][]byte, error) {
	return treeHashes(ctx, s.db, seqs)
}

// PutNodes stores hashes of the tree.
func (s *Audit) PutNodes(ctx context.Context, nodes []audit.Node) error {
	return s.db.WriteUnsynced(ctx, func(tx *store.Tx) error {
		for _, n := range nodes {
			if err := putNode(ctx, tx, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// TreeSize returns the number of records after that one with stored hashes, and the last record with any.
func (s *Audit) TreeSize(ctx context.Context, after int64) (count, last int64, err error) {
	err = s.db.QueryRow(ctx, "SELECT (SELECT COUNT(*) FROM audit_tree WHERE seq > ?), "+
		"(SELECT COALESCE(MAX(seq), 0) FROM audit_tree)", after).Scan(&count, &last)
	return count, last, err
}

// Checkpoints returns the newest checkpoint of each key.
func (s *Audit) Checkpoints(ctx context.Context) ([]audit.StoredCheckpoint, error) {
	return store.List(ctx, s.db, func(scan store.Scan) (p audit.StoredCheckpoint, err error) {
		err = scan(&p.Key, &p.N, &p.Note)
		return p, err
	}, "SELECT key, n, note FROM audit_signed ORDER BY key")
}

// PutCheckpoint stores a checkpoint unless the key has a newer one.
func (s *Audit) PutCheckpoint(ctx context.Context, p audit.StoredCheckpoint) error {
	return s.db.Write(ctx, func(tx *store.Tx) error { return putCheckpoint(ctx, tx, p) })
}

// Derived returns the head and the open intents in one snapshot.
func (s *Audit) Derived(ctx context.Context) (audit.Derived, error) {
	side := audit.Derived{Head: audit.Head{Hash: strings.Repeat("0", 64)}, Open: map[string]int64{}}
	err := store.Each(ctx, s.db, func(scan store.Scan) error {
		var at int64
		var uid sql.NullString
		var seq sql.NullInt64
		err := scan(&side.Head.Chain, &side.Head.N, &side.Head.Hash, &at, &uid, &seq)
		side.Head.At = time.UnixMicro(at).UTC()
		if uid.Valid {
			side.Open[uid.String] = seq.Int64
		}
		return err
	}, "SELECT h.chain, h.n, h.hash, h.at_us, o.uid, o.seq FROM audit_head h LEFT JOIN audit_open o ON h.one = 1")
	return side, err
}
