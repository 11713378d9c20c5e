package accounts

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"opdeck/api/session"
	"opdeck/internal/domain/audit"
	"opdeck/internal/store"
	"opdeck/internal/store/files"
	"opdeck/internal/store/liveness"
)

// Log implements session.Store. The row's counter numbers the events and serialises writers.
func (s *Store) Log(ctx context.Context, key session.Key, e session.Event) error {
	return s.db.WriteUnsynced(ctx, func(tx *store.Tx) error {
		const next = "UPDATE session SET event_seq = event_seq + 1" + rowWhere + " RETURNING event_seq"
		err := tx.QueryRow(ctx, next, key.BaseURL, key.Account).Scan(&e.Seq)
		if err != nil {
			if _, err = s.readOrCreate(ctx, tx, key); err != nil {
				return err
			}
			if err = tx.QueryRow(ctx, next, key.BaseURL, key.Account).Scan(&e.Seq); err != nil {
				return err
			}
		}
		now, err := s.clock.Time(ctx, tx)
		if err != nil {
			return err
		}
		e.At = s.clock.Wall(now)
		return s.addEvent(ctx, tx, key, e)
	})
}

// addEvent writes a numbered event, drops the oldest and counts.
func (s *Store) addEvent(ctx context.Context, tx *store.Tx, key session.Key, e session.Event) error {
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := tx.Exec(ctx, "INSERT INTO session_event (base_url, account, seq, body) VALUES (?, ?, ?, ?)",
		key.BaseURL, key.Account, e.Seq, string(body)); err != nil {
		return err
	}
	if err := tx.Exec(ctx, "DELETE FROM session_event"+rowWhere+" AND seq <= ?",
		key.BaseURL, key.Account, e.Seq-session.MaxEvents); err != nil {
		return err
	}
	if !e.Counted() {
		return nil
	}
	return tx.Exec(ctx, `INSERT INTO session_count (base_url, account, kind, n) VALUES (?, ?, ?, 1)
		ON CONFLICT (base_url, account, kind) DO UPDATE SET n = session_count.n + 1`,
		key.BaseURL, key.Account, string(e.Kind))
}

// Events implements session.Store.
func (s *Store) Events(ctx context.Context, key session.Key, after int64, n int) ([]session.Event, error) {
	var out []session.Event
	err := store.Each(ctx, s.db, func(scan store.Scan) error {
		var e session.Event
		var body []byte
		if err := scan(&body); err != nil {
			return err
		}
		if err := json.Unmarshal(body, &e); err != nil {
			return fmt.Errorf("store: an event of the session is damaged: %w", err)
		}
		out = append(out, e)
		return nil
	}, "SELECT body FROM session_event"+rowWhere+" AND seq > ? ORDER BY seq DESC LIMIT ?",
		key.BaseURL, key.Account, after, n)
	slices.Reverse(out)
	return out, err
}

// Count implements session.Store.
func (s *Store) Count(ctx context.Context, key session.Key) (map[session.EventKind]int64, error) {
	out := map[session.EventKind]int64{}
	err := store.Each(ctx, s.db, func(scan store.Scan) error {
		var kind session.EventKind
		var n int64
		if err := scan(&kind, &n); err != nil {
			return err
		}
		out[kind] = n
		return nil
	}, "SELECT kind, n FROM session_count"+rowWhere, key.BaseURL, key.Account)
	return out, err
}

// instance is an instance as stored.
type instance struct {
	session.Owner
	Marked bool `json:"marked,omitempty"` // the process holds a kernel lock while it runs
}

const (
	instanceLife = 24 * time.Hour // how long a silent process is kept
	instanceRows = 16             // of so many processes and fewer, those that were killed stay too
)

// Beat implements session.Store.
func (s *Store) Beat(ctx context.Context, key session.Key, o session.Owner) error {
	owner, err := json.Marshal(instance{o, s.db.MarkRunning(o.ID)})
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return s.db.WriteUnsynced(ctx, func(tx *store.Tx) error {
		now, err := s.clock.Time(ctx, tx)
		if err != nil {
			return err
		}
		tx.IgnoreOwn(ctx)
		if err := tx.Exec(ctx, "DELETE FROM session_instance"+rowWhere+" AND seen_ns < ?",
			key.BaseURL, key.Account, int64(now-instanceLife)); err != nil {
			return err
		}
		if err := tx.Exec(ctx, `INSERT INTO session_instance (base_url, account, owner_id, owner, started_ns, seen_ns)
			VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (base_url, account, owner_id) DO UPDATE SET owner = excluded.owner, seen_ns = excluded.seen_ns`,
			key.BaseURL, key.Account, o.ID, string(owner), int64(now), int64(now)); err != nil {
			return err
		}
		return s.forgetKilled(ctx, tx, key)
	})
}

// forgetKilled deletes processes that were killed, beyond the newest instanceRows rows: each reading of the session
// asks the kernel about each row.
func (s *Store) forgetKilled(ctx context.Context, tx *store.Tx, key session.Key) error {
	var killed []string
	err := store.Each(ctx, tx, func(scan store.Scan) error {
		var owner []byte
		var i instance
		if err := scan(&owner); err != nil || json.Unmarshal(owner, &i) != nil {
			return err // Instances reports damage
		}
		if running, known := s.db.Running(i.ID, i.Marked); known && !running {
			killed = append(killed, i.ID)
		}
		return nil
	}, "SELECT owner FROM session_instance"+rowWhere+" ORDER BY seen_ns DESC, owner_id LIMIT 1000 OFFSET ?",
		key.BaseURL, key.Account, instanceRows)
	for _, id := range killed {
		if err == nil {
			err = tx.Exec(ctx, "DELETE FROM session_instance"+rowWhere+" AND owner_id = ?", key.BaseURL, key.Account, id)
		}
	}
	return err
}

// Leave implements session.Store.
func (s *Store) Leave(ctx context.Context, key session.Key, ownerID string) error {
	return s.db.Exec(ctx, "DELETE FROM session_instance"+rowWhere+" AND owner_id = ?", key.BaseURL, key.Account, ownerID)
}

// Instances implements session.Store.
func (s *Store) Instances(ctx context.Context, key session.Key) ([]session.Instance, error) {
	now, err := s.clock.Time(ctx, s.db)
	if err != nil {
		return nil, err
	}
	var out []session.Instance
	impossible := false
	wall := s.clock.Wall(now)
	err = store.Each(ctx, s.db, func(scan store.Scan) error {
		var owner []byte
		var started, seen time.Duration
		if err := scan(&owner, &started, &seen); err != nil {
			return err
		}
		impossible = impossible || seen > now
		seen, started = min(seen, now), min(started, now)
		in := session.Instance{Started: wall.Add(started - now), Ago: now - seen, SeenAt: wall.Add(seen - now)}
		var i instance
		if err := json.Unmarshal(owner, &i); err != nil {
			return fmt.Errorf("store: an instance of the session is damaged: %w", err)
		}
		in.Owner = i.Owner
		running, known := s.db.Running(i.ID, i.Marked)
		in.Sure, in.Gone = known, known && !running
		out = append(out, in)
		return nil
	}, "SELECT owner, started_ns, seen_ns FROM session_instance"+rowWhere+
		" AND seen_ns >= ? ORDER BY seen_ns DESC, started_ns DESC",
		key.BaseURL, key.Account, int64(now-instanceLife))
	if err == nil && impossible {
		err = s.db.Exec(ctx, "UPDATE session_instance SET seen_ns = ?"+rowWhere+" AND seen_ns > ?", int64(now), key.BaseURL,
			key.Account, int64(now))
	}
	return out, err
}

// keySum identifies a key without revealing it.
func keySum(key session.Key) [32]byte {
	return sha256.Sum256([]byte(key.BaseURL + "\x00" + key.Account))
}

func keyID(key session.Key) string {
	sum := keySum(key)
	return hex.EncodeToString(sum[:8])
}

// lockID is the number of a key's advisory lock.
func lockID(key session.Key) int64 {
	sum := keySum(key)
	return int64(binary.BigEndian.Uint64(sum[8:16]))
}

// Changed sends a value soon after another process installed a pair or released the lease of key, until stop. It is a
// hint: behind a pooler and with SQLite none is ever sent, and one may be sent without a change. A waiting caller
// must also poll, at least once a second.
func (s *Store) Changed(key session.Key) (changed <-chan struct{}, stop func()) {
	l := s.startListener()
	if l == nil {
		return nil, func() {}
	}
	return l.Subscribe(keyID(key))
}

// startListener starts the listener on first use; nil for SQLite.
func (s *Store) startListener() *liveness.Listener {
	if s.db.Engine() != store.Postgres {
		return nil
	}
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.listener == nil {
		s.listener = liveness.NewListener(s.db, s.log)
	}
	return s.listener
}

// Boots returns the marks of processes that share a PostgreSQL; nil for other engines, see liveness.NewBoots.
func (s *Store) Boots() audit.Alive {
	if l := s.startListener(); l != nil {
		return l.Boots()
	}
	return nil
}

// Liveness returns the locks that show whether the holder of a lease is alive (rules L1 to L3): a kernel lock on a
// file beside the SQLite file, or an advisory lock on the listening connection, which PostgreSQL releases with the
// connection. Behind a pooler and in memory there is none, and the lease alone decides.
func (s *Store) Liveness() session.Liveness {
	switch {
	case s.db.Engine() == store.Postgres:
		return serverLiveness{s.startListener()}
	case s.db.Path() != "":
		return fileLiveness{filepath.Dir(s.db.Path())}
	}
	return nil
}

// fileLiveness has one lock file per key in dir; they are never deleted.
type fileLiveness struct{ dir string }

func (l fileLiveness) file(key session.Key) string {
	return filepath.Join(l.dir, "holder-"+keyID(key)+".lock")
}

// Hold implements session.Liveness.
func (l fileLiveness) Hold(key session.Key) (release func(), ok bool) {
	f, ok := files.Hold(l.file(key))
	if !ok {
		return func() {}, false
	}
	return func() { _ = f.Close() }, true
}

// Gone implements session.Liveness.
func (l fileLiveness) Gone(key session.Key) bool {
	f, err := files.OpenOwn(l.file(key))
	return err == nil && files.Free(f)
}

// serverLiveness holds advisory locks.
type serverLiveness struct{ on *liveness.Listener }

// Hold implements session.Liveness.
func (l serverLiveness) Hold(key session.Key) (release func(), ok bool) {
	return l.on.Hold(lockID(key))
}

// Gone implements session.Liveness.
func (l serverLiveness) Gone(key session.Key) bool { return l.on.Gone(lockID(key)) }
