package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/followup"
	"opdeck/internal/store"
)

// Audit stores the audit trail in the core database. It implements audit.Store.
type Audit struct{ db *store.DB }

var _ audit.Store = (*Audit)(nil)

// NewAudit returns the audit trail of db.
func NewAudit(db *store.DB) *Audit { return &Audit{db: db} }

// Append stores the rows returned by next, under a lock on the end of the chain.
func (s *Audit) Append(ctx context.Context, next func(audit.Head) ([]audit.Row, error)) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		head, err := lockHead(ctx, tx)
		if err != nil {
			return err
		}
		head.Edge, err = audit.EdgeOf(head.N,
			func(seqs []int64) (map[int64][]byte, error) { return treeHashes(ctx, tx, seqs) })
		if err != nil {
			return err
		}
		rows, err := next(head)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := insertAudit(ctx, tx, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// lockHead reads and locks the end of the chain; the first writer creates it.
func lockHead(ctx context.Context, tx *store.Tx) (audit.Head, error) {
	if tx.Engine() == store.Postgres { // regardless of the server's default, so that the intent is durable
		if err := tx.Exec(ctx, "SET LOCAL synchronous_commit TO ON"); err != nil {
			return audit.Head{}, err
		}
	}
	query := headQuery + tx.Engine().ForUpdate()
	head, err := scanHead(tx.QueryRow(ctx, query))
	if !errors.Is(err, sql.ErrNoRows) {
		return head, err
	}
	chain, err := uuid.NewRandom()
	if err != nil {
		return audit.Head{}, fmt.Errorf("store: %w", err)
	}
	err = tx.Exec(ctx, "INSERT INTO audit_head (one, chain, n, hash, at_us) VALUES (1, ?, 0, ?, 0) ON CONFLICT DO NOTHING",
		chain.String(), strings.Repeat("0", 64))
	if err != nil {
		return audit.Head{}, err
	}
	return scanHead(tx.QueryRow(ctx, query))
}

const headQuery = "SELECT chain, n, hash, at_us FROM audit_head WHERE one = 1"

func scanHead(row *store.Row) (audit.Head, error) {
	var h audit.Head
	var at int64
	err := row.Scan(&h.Chain, &h.N, &h.Hash, &at)
	h.At = fromMicros(at)
	return h, err
}

func insertAudit(ctx context.Context, tx *store.Tx, r audit.Row) error {
	err := tx.Exec(ctx, "INSERT INTO audit ("+auditColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		r.Seq, r.UID, r.At.UnixMicro(), r.Event, string(r.Phase), r.Ref, r.Boot, r.Actor, r.Object, r.ID, r.Item, r.Bytes,
		r.Hash)
	if err != nil {
		return err
	}
	switch r.Phase {
	case audit.PhaseIntent:
		err = tx.Exec(ctx, "INSERT INTO audit_open (uid, seq) VALUES (?, ?)", r.UID, r.Seq)
	case audit.PhaseOutcome:
		err = tx.Exec(ctx, "DELETE FROM audit_open WHERE uid = ?", r.Ref)
	}
	if err != nil {
		return err
	}
	if err = tx.Exec(ctx, "UPDATE audit_head SET n = ?, hash = ?, at_us = ? WHERE one = 1", r.Seq, r.Hash,
		r.At.UnixMicro()); err != nil {
		return err
	}
	if len(r.Tree) > 0 {
		if err := putNode(ctx, tx, audit.Node{Seq: r.Seq, Hashes: r.Tree}); err != nil {
			return err
		}
	}
	if r.Checkpoint != nil {
		return putCheckpoint(ctx, tx, *r.Checkpoint)
	}
	return nil
}

// Head returns the end of the chain.
func (s *Audit) Head(ctx context.Context) (audit.Head, error) {
	h, err := scanHead(s.db.QueryRow(ctx, headQuery))
	if errors.Is(err, sql.ErrNoRows) {
		return audit.Head{Hash: strings.Repeat("0", 64)}, nil
	}
	return h, err
}

const auditColumns = "seq, uid, at_us, event, phase, ref, boot, actor, object, object_id, item, bytes, hash"

// Get returns the record with that UID.
func (s *Audit) Get(ctx context.Context, uid string) (audit.Row, error) {
	rows, err := s.read(ctx, "SELECT "+auditColumns+" FROM audit WHERE uid = ?", uid)
	if err == nil && len(rows) == 0 {
		err = audit.ErrNoRecord
	}
	if err != nil {
		return audit.Row{}, err
	}
	return rows[0], nil
}

// Rows returns up to limit rows from Seq from on.
func (s *Audit) Rows(ctx context.Context, from int64, limit int) ([]audit.Row, error) {
	return s.read(ctx, "SELECT "+auditColumns+" FROM audit WHERE seq >= ? ORDER BY seq LIMIT ?", from, limit)
}

// Open returns the intents without an outcome.
func (s *Audit) Open(ctx context.Context) ([]audit.Row, error) {
	return s.read(ctx, "SELECT "+auditColumns+" FROM audit WHERE seq IN (SELECT seq FROM audit_open) ORDER BY seq")
}

// Find returns the rows of a query, newest first.
func (s *Audit) Find(ctx context.Context, q audit.Query) ([]audit.Row, error) {
	var where []string
	var args []any
	add := func(cond string, a ...any) { where, args = append(where, cond), append(args, a...) }
	if q.Actor != "" {
		add("actor = ?", q.Actor)
	}
	if q.Object != "" {
		add("object = ?", q.Object)
	}
	if q.ID != "" {
		add("(object_id = ? OR (item <> '' AND item = ?))", q.ID, q.ID)
	}
	if start, ok := strings.CutSuffix(q.Event, "*"); ok {
		add("substr(event, 1, ?) = ?", len(start), start)
	} else if q.Event != "" {
		add("event = ?", q.Event)
	}
	if q.Phase != "" {
		add("phase = ?", string(q.Phase))
	}
	if !q.From.IsZero() {
		add("at_us >= ?", q.From.UnixMicro())
	}
	if !q.Until.IsZero() {
		add("at_us < ?", q.Until.UnixMicro())
	}
	if q.Before > 0 {
		add("seq < ?", q.Before)
	}
	query := "SELECT " + auditColumns + " FROM audit"
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	return s.read(ctx, query+" ORDER BY seq DESC LIMIT ?", append(args, q.Limit)...)
}

func (s *Audit) read(ctx context.Context, query string, args ...any) ([]audit.Row, error) {
	return store.List(ctx, s.db, func(scan store.Scan) (r audit.Row, err error) {
		var at int64
		err = scan(&r.Seq, &r.UID, &at, &r.Event, (*string)(&r.Phase), &r.Ref, &r.Boot, &r.Actor, &r.Object, &r.ID, &r.Item,
			&r.Bytes, &r.Hash)
		r.At = time.UnixMicro(at).UTC()
		return r, err
	}, query, args...)
}

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

// errTried ends the transaction of Recordable, so that nothing of it stays.
var errTried = errors.New("store: tried")

// Recordable tries to store what a write of an account needs, with the statements of a write: its intent in the trail,
// its row of writes in doubt, a request for approval, and its outcome. Nothing of it stays. The error is the store's.
func Recordable(ctx context.Context, core *store.DB, account string) error {
	err := core.WriteUnsynced(ctx, func(tx *store.Tx) error {
		head, err := lockHead(ctx, tx)
		if err != nil {
			return err
		}
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		intent := audit.Row{Seq: head.N + 1, UID: uuid.Must(uuid.NewV7()).String(), At: now, Event: "try",
			Phase: audit.PhaseIntent, Actor: "opdeck", Bytes: []byte("{}"), Tree: make([]byte, 32)}
		outcome := intent
		outcome.Seq, outcome.UID, outcome.Phase, outcome.Ref = intent.Seq+1, uuid.NewString(), audit.PhaseOutcome, intent.UID
		doubts := NewUnsettled(core, account)
		request := approval.Request{ID: intent.UID, Scope: account, Created: now, Expires: now}
		for _, do := range []func() error{
			func() error { return insertAudit(ctx, tx, intent) },
			func() error {
				_, err := doubts.insert(ctx, tx, followup.Row{Ref: intent.UID, Sent: now, Until: now, Next: now})
				return err
			},
			func() error { return NewApprovals(core).insert(ctx, tx, request, intent.Actor) },
			func() error { return insertAudit(ctx, tx, outcome) },
			func() error { return tx.Exec(ctx, forgetUnsettled, intent.UID, account) },
		} {
			if err := do(); err != nil {
				return err
			}
		}
		return errTried
	})
	if errors.Is(err, errTried) {
		return nil
	}
	return err
}
