package store

import (
	"context"
	"os"
	"time"
)

// Times of a process that finds no file where others have one open.
const (
	putBackWait = 5 * time.Second // for them to notice and put it back
	putBackPoll = 50 * time.Millisecond
)

// openUsers marks this process as a user of a database file, until the file that
// it returns is closed or the process ends. When the database file is missing and
// other processes use it, it was deleted under them: they put it back, and this
// process waits a moment for that instead of beginning a second store.
func (db *DB) openUsers(ctx context.Context) (*os.File, error) {
	name := db.path + ".open"
	if err := ownFile(name); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0o600)
	if err != nil {
		return nil, fileError(name, err)
	}
	for end := time.Now().Add(putBackWait); time.Now().Before(end) && ctx.Err() == nil; {
		if _, err := os.Lstat(db.path); !missing(err) {
			break
		}
		alone, err := lockFile(f, true, false)
		if err != nil || alone {
			break
		}
		wait := time.NewTimer(putBackPoll)
		select {
		case <-wait.C:
		case <-ctx.Done():
		}
		wait.Stop()
	}
	if _, err := lockFile(f, false, false); err != nil { // a hint only
		_ = f.Close()
		return nil, fileError(name, err)
	}
	return f, nil
}
