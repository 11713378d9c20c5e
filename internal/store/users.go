package store

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"time"

	"opdeck/internal/store/files"
)

// Times of a process that does not find the files that others have open.
const (
	restoreWait = 10 * time.Second // for them to notice and put them back
	restorePoll = 50 * time.Millisecond
)

// The file of users (the database's name with ".open") is locked by all who use the
// database, and its content says which main file and which write-ahead log these
// are. A name alone proves nothing: beside a log that was deleted under its users,
// whoever opens a connection by name makes a new, empty one, and reads a state older
// than what was acknowledged. A refresh token read there has been used already.
//
// The content is blank while the first user is opening the files, and belongs to the
// past when nobody else holds the lock.

// filePair is a main file and its write-ahead log. log is nil before it is known.
type filePair struct{ main, log fs.FileInfo }

// recordSize is that of the content: three numbers of 20 digits and a line's end.
const recordSize = 64

const recordForm = "%20d %20d %20d \n"

// recorded is what the file of users says; ok is false when it is blank.
func recorded(users *os.File) (dev, main, log int64, ok bool) {
	var b [recordSize]byte
	if n, _ := users.ReadAt(b[:], 0); n < recordSize { // nobody has written it yet
		return 0, 0, 0, false
	}
	_, err := fmt.Sscan(string(b[:]), &dev, &main, &log)
	return dev, main, log, err == nil && main != 0
}

// record writes which files are in use. A disk without room for 64 bytes leaves the
// content blank, and those who come wait for restoreWait.
func record(users *os.File, use filePair) {
	if use.main == nil || use.log == nil || users == nil {
		return
	}
	dev, main, ok := inode(use.main)
	_, log, _ := inode(use.log)
	if ok {
		_, _ = fmt.Fprintf(&at{users}, recordForm, dev, main, log)
	}
}

// at writes to the beginning of a file.
type at struct{ f *os.File }

func (a *at) Write(b []byte) (int, error) { return a.f.WriteAt(b, 0) }

// join marks this process as a user of the database file, until the process ends or
// db is closed. The files it returns are those that others have open; none for the
// first user, and for one who finds a whole main file that others do not have. When
// a file that others have open is missing or is not theirs, it was deleted under
// them: they put it back, and this process waits for that. An error of kind Busy
// says that they did not.
func (db *DB) join(ctx context.Context) (filePair, error) {
	for end := time.Now().Add(restoreWait); ; {
		use, found := db.look()
		if found {
			if locked, err := files.Lock(db.users, false, false); err != nil || locked {
				return use, err
			}
		} else if alone, err := files.Lock(db.users, true, false); err != nil {
			return filePair{}, err
		} else if alone {
			_, _ = fmt.Fprintf(&at{db.users}, recordForm, 0, 0, 0)
			if locked, err := files.Lock(db.users, false, false); err != nil || locked {
				return filePair{}, err
			}
		}
		wait := time.NewTimer(restorePoll)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return filePair{}, ctx.Err()
		}
		if time.Now().Before(end) {
			continue
		}
		if _, _, _, ok := recorded(db.users); ok && !found {
			return filePair{}, &Error{Kind: Busy, Where: db.path, text: "another opdeck has it open, but the file or its write-ahead log (" + db.path + "-wal) was deleted or moved away, and nobody put it back; end the other opdeck, or put the file back"}
		}
		_, err := files.Lock(db.users, false, false) // the first user ended while it was opening
		return filePair{}, err
	}
}

// look reports the files that the record names, when they are in their places. A
// whole file in the place of the recorded one is found as well, without a log: either
// it was put back a moment ago, or those who had the old one have stopped for good.
func (db *DB) look() (use filePair, found bool) {
	main, err := os.Lstat(db.path)
	if err != nil {
		return filePair{}, false
	}
	log, logErr := os.Lstat(db.path + "-wal")
	dev, ino, ok := inode(main)
	if !ok { // this system does not tell, and nothing is put back there
		return filePair{}, logErr == nil
	}
	wantDev, wantMain, wantLog, recorded := recorded(db.users)
	switch {
	case !recorded:
		return filePair{}, false
	case dev != wantDev || ino != wantMain:
		return filePair{}, true
	case logErr != nil:
		return filePair{}, false
	}
	_, ino, _ = inode(log)
	return filePair{main, log}, ino == wantLog
}
