package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"time"
)

// checkEvery is how long a look at the file's name is good for before reads and
// before a transaction begins. After a commit the name is always checked.
const checkEvery = time.Second

// identity watches that a SQLite file is still the one that the connections of
// this process have open: the same file under the same name, with its write-ahead
// log. SQLite itself goes on writing to a file that was deleted or replaced, and
// everything written there is lost.
type identity struct {
	path   string
	opened time.Time // when this process opened the file, by the time of day

	mu      sync.Mutex  // guards what follows
	main    fs.FileInfo // as opened; nil: not watched
	wal     fs.FileInfo // as opened; nil: not known
	handle  *handle     // of main; nil where the system has none
	gen     int64       // grows when the file goes on under another inode
	checked time.Time   // when the name was checked
	lost    *Error      // nil: all is well
}

// begin remembers the file that is about to be opened, which exists, with what
// others have open.
func (id *identity) begin(path string, use filePair) error {
	if runtime.GOOS == "windows" { // an open file cannot be deleted or replaced there
		return nil
	}
	id.path, id.opened = path, time.Now().Round(0)
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.adopt(use)
}

// adopt makes the files that others have open ours, or else the file that has the
// name now. The caller holds mu.
func (id *identity) adopt(use filePair) error {
	if use.main == nil {
		var err error
		if use.main, err = os.Lstat(id.path); err != nil {
			return fileError(id.path, err)
		}
	}
	id.handle.close()
	id.main, id.wal, id.handle, id.lost = use.main, use.log, openHandle(id.path), nil
	return nil
}

// inUse remembers the write-ahead log, which exists while a connection is open,
// checks that the file is still the one that was adopted, and records both for those
// who come.
func (db *DB) inUse() error {
	id := &db.identity
	id.mu.Lock()
	first := id.main != nil && id.wal == nil
	if first {
		id.wal, _ = os.Lstat(id.path + "-wal")
	}
	use := filePair{id.main, id.wal}
	id.mu.Unlock()
	if err := id.check(true); err != nil {
		return err
	}
	if first {
		record(db.users, use)
	}
	return nil
}

// check returns an *Error of kind Lost when the file is not the one that was
// opened. Unless now is set, a check of less than a second ago counts.
func (id *identity) check(now bool) error {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.main == nil {
		return nil
	}
	if now || time.Since(id.checked) >= checkEvery {
		id.checked = time.Now()
		id.lost = nil
		if why := id.change(); why != "" {
			id.lost = &Error{Kind: Lost, Where: id.path, text: why}
		}
	}
	if id.lost != nil {
		return id.lost
	}
	return nil
}

// change says what happened to the file, "" for nothing. The caller holds mu.
func (id *identity) change() string {
	for _, f := range []struct {
		name string
		was  fs.FileInfo
		what string
	}{{id.path, id.main, "it"}, {id.path + "-wal", id.wal, "its write-ahead log (" + id.path + "-wal)"}} {
		if f.was == nil {
			continue
		}
		is, err := os.Lstat(f.name)
		switch {
		case missing(err):
			return f.what + " was deleted or moved away"
		case err != nil:
			return f.what + " cannot be looked at any more (" + plain(err) + ")"
		case !os.SameFile(is, f.was):
			return f.what + " was replaced by another file"
		}
	}
	return ""
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) }

// generation changes when connections that are open belong to the past.
func (id *identity) generation() int64 {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.gen
}

func (id *identity) close() {
	id.mu.Lock()
	defer id.mu.Unlock()
	id.handle.close()
	id.handle = nil
}

// checkFile is check before something is read or written. A file that was deleted
// while this process had it open is put back first, where the system allows it.
func (db *DB) checkFile(ctx context.Context) error {
	err := db.identity.check(false)
	if err == nil || !db.identity.restorable() {
		return err
	}
	if restoreErr := db.restore(ctx); restoreErr != nil {
		return err
	}
	return db.identity.check(true)
}

// Lost returns an *Error of kind Lost when a file of the store was deleted or
// replaced under this process and could not be put back, else nil. The process
// must be started again: what it holds in memory belongs to the old file.
func (s *Store) Lost(ctx context.Context) error {
	if err := s.Core.checkFile(ctx); err != nil || s.Bulk == s.Core {
		return err
	}
	return s.Bulk.checkFile(ctx)
}

// WatchLost waits until a file of the store is lost, looking every two seconds,
// and returns the error; nil when ctx ends first.
func (s *Store) WatchLost(ctx context.Context) error {
	tick := time.NewTicker(2 * checkEvery)
	defer tick.Stop()
	for {
		if err := s.Lost(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
