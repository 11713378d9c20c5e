package store

import (
	"os"
	"time"
)

// Stamp tells whether anybody has written to a database since an earlier stamp:
// equal stamps, nothing was written. It costs no query. Times are those of the
// file system, so that two writes within a few milliseconds may look like one
// of them; look now and then all the same.
type Stamp struct {
	at   [4]time.Time
	size [4]int64
}

// Stamp reads the stamp of both databases; ok is false where files do not tell,
// as with PostgreSQL and in memory.
func (s *Store) Stamp() (st Stamp, ok bool) {
	if s.Core.engine != SQLite || s.Core.path == "" {
		return st, false
	}
	for i, name := range [...]string{s.Core.path, s.Core.path + "-wal", s.Bulk.path, s.Bulk.path + "-wal"} {
		f, err := os.Stat(name)
		if err != nil { // the write-ahead log comes with the first write
			continue
		}
		st.at[i], st.size[i] = f.ModTime(), f.Size()
	}
	return st, true
}

// Index is the part of the stamp that is about the bulk database, which holds
// the index and the webhooks.
func (s Stamp) Index() Stamp {
	s.at[0], s.at[1], s.size[0], s.size[1] = time.Time{}, time.Time{}, 0, 0
	return s
}
