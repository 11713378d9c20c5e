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

// checkEvery is the greatest age of a check for a read. Writes check before they begin and after their commit.
const checkEvery = time.Second

// identity detects that a SQLite file or its write-ahead log is no longer the one that this process opened: SQLite
// keeps writing to a deleted or replaced file, and those writes are lost.
type identity struct {
	path string

	mu      sync.Mutex  // guards the fields below
	main    fs.FileInfo // as opened; nil: not checked
	log     fs.FileInfo // as opened; nil: not yet
	checked time.Time
	lost    *Error // nil: not lost; else permanent
}

// begin records the file that is about to be opened.
func (id *identity) begin(path string) error {
	if runtime.GOOS == "windows" { // an open file cannot be deleted or replaced there
		return nil
	}
	main, err := os.Lstat(path)
	if err != nil {
		return fileError(path, err)
	}
	id.mu.Lock()
	defer id.mu.Unlock()
	id.path, id.main = path, main
	return nil
}

// opened records the write-ahead log, which exists while a connection is open.
func (id *identity) opened() error {
	id.mu.Lock()
	if id.main != nil && id.log == nil {
		id.log, _ = os.Lstat(id.path + "-wal")
	}
	id.mu.Unlock()
	return id.check(true)
}

// check returns an *Error of kind Lost if a file is not the one that was opened. Without now, a check within the last
// second is reused.
func (id *identity) check(now bool) error {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.main != nil && id.lost == nil && (now || time.Since(id.checked) >= checkEvery) {
		id.checked = time.Now()
		id.lost = id.compare()
	}
	if id.lost != nil {
		return id.lost
	}
	return nil
}

// compare checks both paths. The caller holds mu.
func (id *identity) compare() *Error {
	for _, f := range []struct {
		name   string
		opened fs.FileInfo
	}{{id.path, id.main}, {id.path + "-wal", id.log}} {
		if f.opened == nil {
			continue
		}
		now, err := os.Lstat(f.name)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotDir):
			return &Error{Kind: Lost, Where: f.name, text: "was deleted or moved away"}
		case err != nil:
			return &Error{Kind: Lost, Where: f.name, Err: err, text: "cannot be checked any more (" + plain(err) + ")"}
		case !os.SameFile(now, f.opened):
			return &Error{Kind: Lost, Where: f.name, text: "was replaced by another file"}
		}
	}
	return nil
}

// Lost returns an *Error of kind Lost once a file of the store was deleted or replaced, else nil. The process must
// then be restarted.
func (s *Store) Lost() error {
	if err := s.Core.identity.check(false); err != nil {
		return err
	}
	return s.Bulk.identity.check(false)
}

// WatchLost waits until a file of the store is lost, polling every two seconds, and returns the error; nil if ctx
// ends first.
func (s *Store) WatchLost(ctx context.Context) error {
	tick := time.NewTicker(2 * checkEvery)
	defer tick.Stop()
	for {
		if err := s.Lost(); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
