package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"opdeck/internal/domain/audit"
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
