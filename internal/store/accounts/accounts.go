// Package accounts stores what all processes share of a machine account: its session (the token pair, the lease to
// replace it, events and instances) and its budgets. They are in one package because a call uses both in one
// transaction (session protocol, rule B1).
package accounts

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/internal/store"
	"opdeck/internal/store/liveness"
	"opdeck/internal/store/seal"
)

// Options configure New.
type Options struct {
	Key   seal.Key     // seals the tokens; see seal.OpenKey
	Log   *slog.Logger // nil: silent
	Clock store.Clock  // for tests; nil: the clock of the database
}

// Store stores the token pairs, the leases to replace them, and the budgets in a core database. It implements
// session.Store and limit.Store. Tokens are sealed; a pair that cannot be unsealed counts as possibly dead.
type Store struct {
	rows
	spent spent

	starting sync.Mutex         // guards listener
	listener *liveness.Listener // PostgreSQL: started on first use
}

// rows reads and writes rows of the session table.
type rows struct {
	db       *store.DB
	clock    store.Clock
	seal     *seal.Sealer
	log      *slog.Logger
	reported sync.Map // incarnation and gen of pairs whose damage was logged
}

var _ session.Store = (*Store)(nil)

// New returns the accounts in core.
func New(core *store.DB, opt Options) (*Store, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Clock == nil {
		opt.Clock = core.Clock()
	}
	sealer, err := seal.New(opt.Key)
	if err != nil {
		return nil, err
	}
	return &Store{rows: rows{db: core, clock: opt.Clock, seal: sealer, log: opt.Log}, spent: spent{core.Path()}}, nil
}

// Close stops the listener for changes. The database stays open.
func (s *Store) Close() error {
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.listener == nil {
		return nil
	}
	return s.listener.Close()
}

// Load implements session.Store.
func (s *Store) Load(ctx context.Context, key session.Key) (session.Row, error) {
	start := time.Now()
	rec, err := s.read(ctx, s.db, key)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && rec.changed:
		return s.change(ctx, key, func(*store.Tx, *record) error { return nil })
	case err != nil:
		return session.Row{}, err
	}
	return s.view(rec, start), nil
}

// Enter implements session.Store. It locks the ring before it reads the row, so that the row is not older than the
// wait for the lock.
func (s *Store) Enter(ctx context.Context, key session.Key, req limit.Request,
	usable func(session.Row) bool) (session.Row, limit.Grant, error) {
	if s.db.Engine() == store.Postgres {
		row, grant, err := s.enterPostgres(ctx, key, req, usable)
		if !errors.Is(err, errNotSimple) {
			return row, grant, err
		}
	}
	var row session.Row
	var grant limit.Grant
	start := time.Now()
	err := s.db.WriteUnsynced(ctx, func(tx *store.Tx) error {
		r, err := s.lockRing(ctx, tx, key, req.Class)
		if err != nil {
			return err
		}
		start = time.Now()
		rec, err := s.readOrCreate(ctx, tx, key)
		if err != nil {
			return err
		}
		if rec.changed {
			if err := s.save(ctx, tx, rec); err != nil {
				return err
			}
		}
		row = s.view(rec, start)
		if !usable(row) {
			return nil
		}
		grant, err = s.take(ctx, tx, r, req, rec.now)
		return err
	})
	if err != nil {
		return row, limit.Grant{}, err
	}
	return row, grant, nil
}

// change runs fn on the locked row, created if missing, and stores the changes. It returns the row afterwards.
func (s *Store) change(ctx context.Context, key session.Key, fn func(*store.Tx, *record) error) (session.Row, error) {
	var row session.Row
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		if tx.Engine() == store.Postgres { // read the clock after the wait for the lock
			err := tx.Exec(ctx, "SELECT "+store.IdleLimit+" FROM session"+rowWhere+" FOR UPDATE", key.BaseURL, key.Account)
			if err != nil {
				return err
			}
		}
		start := time.Now()
		rec, err := s.readOrCreate(ctx, tx, key)
		if err != nil {
			return err
		}
		if err := fn(tx, rec); err != nil {
			return err
		}
		if rec.changed {
			if err := s.save(ctx, tx, rec); err != nil {
				return err
			}
		}
		row = s.view(rec, start)
		return nil
	})
	return row, err
}

// readOrCreate is read for a transaction that may create the row.
func (s *rows) readOrCreate(ctx context.Context, tx *store.Tx, key session.Key) (*record, error) {
	rec, err := s.read(ctx, tx, key)
	if !errors.Is(err, sql.ErrNoRows) {
		return rec, err
	}
	if err := s.create(ctx, tx, key); err != nil {
		return nil, err
	}
	return s.read(ctx, tx, key)
}

// create creates an empty row unless another process is faster. Events of an earlier row remain, and their numbers
// continue; its counts end.
func (s *rows) create(ctx context.Context, tx *store.Tx, key session.Key) error {
	res, err := tx.Result(ctx, `INSERT INTO session (base_url, account, incarnation, event_seq)
		VALUES (?, ?, ?, (SELECT COALESCE(MAX(seq), 0) FROM session_event WHERE base_url = ? AND account = ?))
		ON CONFLICT DO NOTHING`,
		key.BaseURL, key.Account, newIncarnation(), key.BaseURL, key.Account)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	return tx.Exec(ctx, "DELETE FROM session_count"+rowWhere, key.BaseURL, key.Account)
}

// reportDamage logs once per pair that its tokens cannot be unsealed.
func (s *rows) reportDamage(rec *record) {
	id := fmt.Sprintf("%s/%d", rec.row.Incarnation, rec.row.Gen)
	if _, again := s.reported.LoadOrStore(id, true); !again {
		s.log.Warn("store: the stored tokens cannot be unsealed (another key, or the row was changed); the session starts "+
			"with a login",
			"account", maskAccount(rec.key.Account), "gen", rec.row.Gen)
	}
}

// maskAccount shows only the first letter and the domain.
func maskAccount(a string) string {
	at := strings.LastIndexByte(a, '@')
	if at < 1 {
		return "•••"
	}
	return a[:1] + "•••" + a[at:]
}
