package store

import (
	"context"
	"os"
	"time"

	"opdeck/internal/store/files"
)

// Times of a process that finds no file where others have one open.
const (
	restoreWait = 5 * time.Second // for them to notice and put it back
	restorePoll = 50 * time.Millisecond
)

// openUsers marks this process as a user of a database file, until the file that
// it returns is closed or the process ends. When the file or its write-ahead log is
// missing although other processes use it, it was deleted under them: they put it
// back, and this process waits a moment for that. Otherwise it would begin a second
// store, or read an older state of this one and present a refresh token again.
func (db *DB) openUsers(ctx context.Context) (*os.File, error) {
	name := db.path + ".open"
	f, err := files.OpenOwn(name)
	if err != nil {
		return nil, fileError(name, err)
	}
	for end := time.Now().Add(restoreWait); time.Now().Before(end) && ctx.Err() == nil; {
		if complete(db.path) {
			break
		}
		alone, err := files.Lock(f, true, false)
		if err != nil || alone {
			break
		}
		wait := time.NewTimer(restorePoll)
		select {
		case <-wait.C:
		case <-ctx.Done():
		}
		wait.Stop()
	}
	if _, err := files.Lock(f, false, false); err != nil { // a hint only
		_ = f.Close()
		return nil, fileError(name, err)
	}
	return f, nil
}

// complete reports whether a database file and its write-ahead log are there, as
// they are while anybody has it open.
func complete(path string) bool {
	for _, part := range []string{path, path + "-wal"} {
		if _, err := os.Lstat(part); missing(err) {
			return false
		}
	}
	return true
}
