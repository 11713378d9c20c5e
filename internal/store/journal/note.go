package journal

import (
	"context"
	"strings"
	"time"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/note"
	"opdeck/internal/store"
)

// Notes stores people's notes in the core database. It implements note.Store.
type Notes struct{ db *store.DB }

var _ note.Store = (*Notes)(nil)

// NewNotes returns the notes of db.
func NewNotes(db *store.DB) *Notes { return &Notes{db: db} }

// Put implements note.Store.
func (s *Notes) Put(ctx context.Context, scope string, n note.Note, most int) (note.Note, error) {
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		var have int
		if err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM note WHERE scope = ? AND object_id = ? AND object = ?", scope,
			n.ID, n.Object).Scan(&have); err != nil {
			return err
		}
		if have >= most {
			return note.ErrFull
		}
		n.At = now.UTC().Truncate(time.Microsecond)
		return tx.Exec(ctx, `INSERT INTO note (uid, scope, object, object_id, author, at_us, body, folded)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, n.UID, scope, n.Object, n.ID, n.Author, n.At.UnixMicro(), string(n.Text),
			filter.Fold(string(n.Text)))
	})
	return n, err
}

const noteColumns = "SELECT uid, object, object_id, author, at_us, body FROM note WHERE scope = ?"

func scanNote(scan store.Scan) (n note.Note, err error) {
	var at int64
	var text string
	err = scan(&n.UID, &n.Object, &n.ID, &n.Author, &at, &text)
	n.At, n.Text = time.UnixMicro(at).UTC(), untrusted.Text(text)
	return n, err
}

// About implements note.Store.
func (s *Notes) About(ctx context.Context, scope, object, id string, limit int) ([]note.Note, error) {
	where, args := "", []any{scope}
	if object != "" {
		where, args = where+" AND object = ?", append(args, object)
	}
	if id != "" {
		where, args = where+" AND object_id = ?", append(args, id)
	}
	return store.List(ctx, s.db, scanNote, noteColumns+where+" ORDER BY at_us DESC, uid LIMIT ?", append(args, limit)...)
}

// Find implements note.Store. Notes of an earlier version kept their accents.
func (s *Notes) Find(ctx context.Context, scope, text string, limit int) ([]note.Note, error) {
	like := func(s string) string { return "%" + filter.Like(s) + "%" }
	return store.List(ctx, s.db, scanNote, noteColumns+
		` AND (folded LIKE ? ESCAPE '\' OR folded LIKE ? ESCAPE '\') ORDER BY at_us DESC, uid LIMIT ?`,
		scope, like(filter.Fold(text)), like(strings.ToLower(text)), limit)
}

// PruneNotes removes up to limit notes from before a time, of all accounts, and returns how many.
func PruneNotes(ctx context.Context, core *store.DB, before time.Time, limit int) (n int, err error) {
	err = core.WriteIdle(ctx, func(tx *store.Tx) error {
		removed, err := store.Affected(tx.Result(ctx, `DELETE FROM note WHERE uid IN (
			SELECT uid FROM note WHERE at_us < ? ORDER BY at_us LIMIT ?)`, before.UnixMicro(), limit))
		n = int(removed)
		return err
	})
	return n, err
}
