package store

import (
	"crypto/sha256"
	"encoding/binary"

	"opdeck/api/session"
)

// beating is an instance as stored.
type beating struct {
	session.Owner
	Marked bool `json:"marked,omitempty"` // it holds a kernel lock while it runs
}

// markOf is the byte that stands for a process.
func markOf(ownerID string) int64 {
	sum := sha256.Sum256([]byte("instance\x00" + ownerID))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 2)
}

// markInstance marks this process as one that runs, where that can be told.
func (s *Session) markInstance(ownerID string) bool {
	if s.db.users == nil || !canMark {
		return false
	}
	if _, done := s.marked.Load(ownerID); done {
		return true
	}
	ok := markByte(s.db.users, markOf(ownerID))
	if ok {
		s.marked.Store(ownerID, true)
	}
	return ok
}

// runs tells whether the kernel knows an instance, and whether it has ended.
func (s *Session) runs(b beating) (sure, gone bool) {
	if _, ours := s.marked.Load(b.ID); ours {
		return true, false
	}
	if !b.Marked || s.db.users == nil || !canMark {
		return false, false
	}
	return true, !byteMarked(s.db.users, markOf(b.ID))
}
