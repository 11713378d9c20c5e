package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// A damaged index file blocks nothing: it is a copy of what the service has. A process that meets damage leaves a mark
// beside the file; the next one that opens it, while no other has it open, moves it away and makes a new one. The old
// file stays for the webhooks in it that were not merged yet.

// damageMark is the file that says that an index file is damaged.
func damageMark(path string) string { return path + ".is-damaged" }

// markDamaged leaves the mark. Without it (no space, no permission) the damage is found again.
func markDamaged(path string) {
	if f, err := os.OpenFile(damageMark(path), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
		_ = f.Close()
	}
}

// DamagedSince is when a process first met damage in the index file at path, by this host's clock; zero: it is not
// damaged as far as known.
func DamagedSince(path string) time.Time {
	mark, err := os.Lstat(damageMark(path))
	if err != nil {
		return time.Time{}
	}
	return mark.ModTime()
}

// openIndex opens the file of the index, or a new one if it is marked as damaged or a folder. It returns an *Error of
// kind IndexDamaged while another process has a damaged file open, and where it meets damage itself: then it opens a
// new one the next time.
func openIndex(ctx context.Context, path string, notice func(string)) (*DB, error) {
	if seen, err := os.Lstat(path); err == nil && (seen.IsDir() || !DamagedSince(path).IsZero()) {
		if err := moveDamaged(ctx, path, seen, notice); err != nil {
			return nil, err
		}
	}
	return openDB(ctx, &DB{engine: SQLite, path: path, index: true}, notice)
}

// moveDamaged moves the file that was seen away with its log, unless another process did that already.
func moveDamaged(ctx context.Context, path string, seen fs.FileInfo, notice func(string)) error {
	q, err := openQueue(path)
	if err != nil {
		return err
	}
	defer func() { _ = q.close() }()
	done, err := q.acquire(ctx)
	if err != nil {
		return err
	}
	defer done()
	if now, err := os.Lstat(path); err != nil || !os.SameFile(now, seen) {
		return nil // another process moved it
	}
	if pid, held := holder(path); held {
		return &Error{Kind: IndexDamaged, Where: path, Err: &HeldError{path, pid}}
	}
	if err := os.Remove(damageMark(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fileError(path, err)
	}
	for _, part := range []string{"-shm", "-wal", ""} { // a log without its file is removed by create
		if err := os.Rename(path+part, path+".damaged"+part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fileError(path, err)
		}
	}
	if notice != nil {
		notice("The index at " + path + " was damaged. opdeck moved it to " + path +
			".damaged and reads the lists again from the service.")
	}
	return nil
}
