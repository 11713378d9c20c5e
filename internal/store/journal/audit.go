package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
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
	err = tx.Exec(ctx, "INSERT INTO audit_head (one, chain, n, hash, at_us, epoch) VALUES (1, ?, 0, ?, 0, 1) "+
		"ON CONFLICT DO NOTHING", chain.String(), strings.Repeat("0", 64))
	if err != nil {
		return audit.Head{}, err
	}
	return scanHead(tx.QueryRow(ctx, query))
}

const headQuery = "SELECT chain, n, hash, at_us, epoch FROM audit_head WHERE one = 1"

func scanHead(row *store.Row) (audit.Head, error) {
	var h audit.Head
	var at int64
	err := row.Scan(&h.Chain, &h.N, &h.Hash, &at, &h.Epoch)
	h.At = fromMicros(at)
	return h, err
}

func insertAudit(ctx context.Context, tx *store.Tx, r audit.Row) error {
	if err := insertRow(ctx, tx, r); err != nil {
		return err
	}
	var err error
	switch r.Phase {
	case audit.PhaseIntent:
		err = tx.Exec(ctx, "INSERT INTO audit_open (uid, seq) VALUES (?, ?)", r.UID, r.Seq)
	case audit.PhaseOutcome:
		err = tx.Exec(ctx, "DELETE FROM audit_open WHERE uid = ?", r.Ref)
	}
	if err != nil {
		return err
	}
	head := "n = ?, hash = ?, at_us = ?"
	if r.Epoch {
		head += ", epoch = n + 1"
	}
	err = tx.Exec(ctx, "UPDATE audit_head SET "+head+" WHERE one = 1", r.Seq, r.Hash, r.At.UnixMicro())
	if err == nil && r.Checkpoint != nil {
		err = putCheckpoint(ctx, tx, *r.Checkpoint, r.Epoch)
	}
	return err
}

func insertRow(ctx context.Context, tx *store.Tx, r audit.Row) error {
	return tx.Exec(ctx, "INSERT INTO audit ("+auditColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		r.Seq, r.UID, r.At.UnixMicro(), r.Event, string(r.Phase), r.Ref, r.Boot, r.Actor, r.Object, r.ID, r.Item, r.Bytes,
		r.Hash)
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

// Segments returns the segments of an older program that are not imported yet, oldest first.
func (s *Audit) Segments(ctx context.Context) ([]audit.Segment, error) {
	return store.List(ctx, s.db, func(scan store.Scan) (g audit.Segment, err error) {
		err = scan(&g.First, &g.Last, &g.Hash, &g.File, &g.Folder, &g.Host)
		return g, err
	}, "SELECT first, last, hash, file, folder, host FROM audit_segment ORDER BY first")
}

// Import stores the rows of a segment that are not there, and forgets the segment.
func (s *Audit) Import(ctx context.Context, g audit.Segment, rows []audit.Row) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		there, err := store.List(ctx, tx, store.Value[int64], "SELECT seq FROM audit WHERE seq BETWEEN ? AND ?", g.First,
			g.Last)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if slices.Contains(there, r.Seq) {
				continue
			}
			if err := insertRow(ctx, tx, r); err != nil {
				return err
			}
		}
		return tx.Exec(ctx, "DELETE FROM audit_segment WHERE first = ?", g.First)
	})
}

// putCheckpoint stores a checkpoint unless the key has a newer one; that of an epoch takes the place of what was lost.
func putCheckpoint(ctx context.Context, tx *store.Tx, p audit.StoredCheckpoint, epoch bool) error {
	newer := " WHERE excluded.n > audit_signed.n"
	if epoch {
		newer = ""
	}
	return tx.Exec(ctx, "INSERT INTO audit_signed (key, n, note) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET "+
		"n = excluded.n, note = excluded.note"+newer, p.Key, p.N, p.Note)
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
	return s.db.Write(ctx, func(tx *store.Tx) error { return putCheckpoint(ctx, tx, p, false) })
}

// Derived returns the head and the open intents in one snapshot.
func (s *Audit) Derived(ctx context.Context) (audit.Derived, error) {
	side := audit.Derived{Head: audit.Head{Hash: strings.Repeat("0", 64)}, Open: map[string]int64{}}
	err := store.Each(ctx, s.db, func(scan store.Scan) error {
		var at int64
		var uid sql.NullString
		var seq sql.NullInt64
		err := scan(&side.Head.Chain, &side.Head.N, &side.Head.Hash, &at, &side.Head.Epoch, &uid, &seq)
		side.Head.At = time.UnixMicro(at).UTC()
		if uid.Valid {
			side.Open[uid.String] = seq.Int64
		}
		return err
	}, "SELECT h.chain, h.n, h.hash, h.at_us, h.epoch, o.uid, o.seq FROM audit_head h LEFT JOIN audit_open o ON h.one = 1")
	return side, err
}

// errTried ends the transaction of Recordable, so that nothing of it stays.
var errTried = errors.New("store: tried")

// Recordable tries to store what a write of an account needs, with the statements of a write: its intent in the trail,
// its row of writes in doubt, a request for approval, and its outcome with a checkpoint. Nothing of it stays. The
// error is the store's.
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
			Phase: audit.PhaseIntent, Actor: "opdeck", Bytes: []byte("{}")}
		outcome := intent
		outcome.Seq, outcome.UID, outcome.Phase, outcome.Ref = intent.Seq+1, uuid.NewString(), audit.PhaseOutcome, intent.UID
		outcome.Checkpoint = &audit.StoredCheckpoint{Key: "try"}
		doubts := NewUnsettled(core, account)
		request := approval.Request{ID: intent.UID, Scope: account, Created: now, Expires: now}
		for _, do := range []func() error{
			func() error { return insertAudit(ctx, tx, intent) },
			func() error {
				_, err := doubts.insert(ctx, tx, followup.Row{Ref: intent.UID, Sent: now, Until: now, Next: now,
					Claim: intent.UID})
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
