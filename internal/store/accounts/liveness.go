package accounts

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"path/filepath"

	"opdeck/api/session"
	"opdeck/internal/domain/audit"
	"opdeck/internal/store"
	"opdeck/internal/store/files"
	"opdeck/internal/store/liveness"
)

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
