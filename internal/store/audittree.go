package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"opdeck/internal/domain/audit"
)

// maxList is the number of values in one IN list.
const maxList = 500

// treeHashes reads the stored hashes of the records in seqs.
func treeHashes(ctx context.Context, q Querier, seqs []int64) (map[int64][]byte, error) {
	out := make(map[int64][]byte, len(seqs))
	for part := range slices.Chunk(seqs, maxList) {
		args := make([]any, len(part))
		for i, seq := range part {
			args[i] = seq
		}
		list := strings.Repeat(", ?", len(part))[2:]
		rows, err := q.Query(ctx, "SELECT seq, hashes FROM audit_tree WHERE seq IN ("+list+")", args...)
		if err != nil {
			return nil, err
		}
		err = eachRow(rows, func() error {
			var seq int64
			var hashes []byte
			if err := rows.Scan(&seq, &hashes); err != nil {
				return err
			}
			out[seq] = hashes
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// eachRow calls fn for each row and closes them.
func eachRow(rows *sql.Rows, fn func() error) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := fn(); err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

func putNode(ctx context.Context, tx *Tx, n audit.Node) error {
	_, err := tx.Exec(ctx, "INSERT INTO audit_tree (seq, hashes) VALUES (?, ?) ON CONFLICT (seq) DO UPDATE SET hashes = excluded.hashes", n.Seq, n.Hashes)
	return err
}

func putPoint(ctx context.Context, tx *Tx, p audit.Point) error {
	_, err := tx.Exec(ctx, `INSERT INTO audit_signed (key, n, note) VALUES (?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET n = excluded.n, note = excluded.note WHERE excluded.n > audit_signed.n`, p.Key, p.N, p.Note)
	return err
}

// Nodes returns the stored hashes of the tree by Seq.
func (s *AuditStore) Nodes(ctx context.Context, seqs []int64) (map[int64][]byte, error) {
	out, err := treeHashes(ctx, s.db, seqs)
	return out, s.db.explain(err)
}

// PutNodes stores hashes of the tree.
func (s *AuditStore) PutNodes(ctx context.Context, nodes []audit.Node) error {
	return s.db.WriteHasty(ctx, func(tx *Tx) error {
		for _, n := range nodes {
			if err := putNode(ctx, tx, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// TreeSize returns for how many records hashes are stored, and the last of them.
func (s *AuditStore) TreeSize(ctx context.Context) (count, last int64, err error) {
	err = s.db.QueryRow(ctx, "SELECT COUNT(*), COALESCE(MAX(seq), 0) FROM audit_tree").Scan(&count, &last)
	return count, last, err
}

// Points returns the newest checkpoint of each key.
func (s *AuditStore) Points(ctx context.Context) ([]audit.Point, error) {
	rows, err := s.db.Query(ctx, "SELECT key, n, note FROM audit_signed ORDER BY key")
	if err != nil {
		return nil, err
	}
	var out []audit.Point
	err = eachRow(rows, func() error {
		var p audit.Point
		err := rows.Scan(&p.Key, &p.N, &p.Note)
		out = append(out, p)
		return err
	})
	return out, s.db.explain(err)
}

// PutPoint stores a checkpoint unless the key has a newer one.
func (s *AuditStore) PutPoint(ctx context.Context, p audit.Point) error {
	return s.db.Write(ctx, func(tx *Tx) error { return putPoint(ctx, tx, p) })
}

// Side returns the head and the intents without an outcome, in one snapshot.
func (s *AuditStore) Side(ctx context.Context) (audit.Side, error) {
	side := audit.Side{Head: audit.Head{Hash: strings.Repeat("0", 64)}, Open: map[string]int64{}}
	rows, err := s.db.Query(ctx, "SELECT h.chain, h.n, h.hash, h.at_us, o.uid, o.seq FROM audit_head h LEFT JOIN audit_open o ON h.one = 1")
	if err != nil {
		return side, err
	}
	err = eachRow(rows, func() error {
		var at int64
		var uid sql.NullString
		var seq sql.NullInt64
		if err := rows.Scan(&side.Head.Chain, &side.Head.N, &side.Head.Hash, &at, &uid, &seq); err != nil {
			return err
		}
		side.Head.At = time.UnixMicro(at).UTC()
		if uid.Valid {
			side.Open[uid.String] = seq.Int64
		}
		return nil
	})
	return side, s.db.explain(err)
}
