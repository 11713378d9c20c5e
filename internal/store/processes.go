package store

import (
	"crypto/sha256"
	"encoding/binary"
)

// A process can mark each of its instances with a kernel lock on one byte of a SQLite file's lock file, so that
// others know at once when it has ended.

// MarkRunning marks an instance of this process as running until the process ends; false if that is not supported.
func (db *DB) MarkRunning(instance string) bool {
	if db.queue == nil || !canMark {
		return false
	}
	if _, done := db.running.Load(instance); done {
		return true
	}
	ok := markByte(db.queue.file, byteOf(instance))
	if ok {
		db.running.Store(instance, true)
	}
	return ok
}

// Running reports whether a marked instance is still running; known is false if that is not supported.
func (db *DB) Running(instance string, marked bool) (running, known bool) {
	if _, ours := db.running.Load(instance); ours {
		return true, true
	}
	if !marked || db.queue == nil || !canMark {
		return false, false
	}
	return byteMarked(db.queue.file, byteOf(instance)), true
}

// byteOf is the byte for an instance.
func byteOf(instance string) int64 {
	sum := sha256.Sum256([]byte("instance\x00" + instance))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 2)
}
