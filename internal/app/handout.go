package app

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"opdeck/api"
	"opdeck/internal/store/files"
)

const (
	handedOut = "handed-" // prefix of a folder with a file for another program
	lockName  = ".lock"   // in it, locked while the console that made it runs
)

// HandOut writes a file with this name (no path) for another program, in a new folder of the state folder that only
// this user can enter, and returns its path. remove deletes both; if the console is killed first, SweepHandedOut of
// the next one does.
func HandOut(state, name string, fill func(io.Writer) error) (path string, remove func() error, err error) {
	bad := func(err error) (string, func() error, error) {
		return "", nil, &api.Error{Op: "open copy", Kind: api.Internal,
			Public: "The temporary file cannot be created in " + state + ".", Err: err}
	}
	begun, err := os.MkdirTemp(state, "opdeck-") // mode 0700
	if err != nil {
		return bad(err)
	}
	dir := filepath.Join(filepath.Dir(begun), handedOut+filepath.Base(begun))
	lock, err := os.OpenFile(filepath.Join(begun, lockName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = files.Lock(lock, true, false)
		if err == nil { // locked: no sweep removes it now
			err = os.Rename(begun, dir)
		}
	}
	if err != nil {
		return bad(errors.Join(err, lock.Close(), os.RemoveAll(begun)))
	}
	remove = func() error { return errors.Join(os.RemoveAll(dir), lock.Close()) }
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return bad(errors.Join(err, remove()))
	}
	if err := fill(f); err != nil {
		_ = f.Close()
		return "", nil, errors.Join(err, remove())
	}
	if err := f.Close(); err != nil {
		return bad(errors.Join(err, remove()))
	}
	return f.Name(), remove, nil
}

// SweepHandedOut removes files of HandOut that killed consoles left.
func SweepHandedOut(state string, log *slog.Logger) {
	left, _ := filepath.Glob(filepath.Join(state, handedOut+"*"))
	for _, dir := range left {
		if err := sweep(dir); err != nil {
			log.Warn("a file that was handed out is left", "folder", dir, "err", err)
		}
	}
}

// sweep removes a folder that no running console has locked.
func sweep(dir string) error {
	st, err := os.Lstat(dir)
	if err != nil || !st.IsDir() || files.Ours(dir, st) != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
	switch {
	case errors.Is(err, os.ErrNotExist): // half removed by another sweep
		return os.RemoveAll(dir)
	case err != nil:
		return err
	}
	defer lock.Close()
	if free, err := files.Lock(lock, true, false); err != nil || !free {
		return err
	}
	return os.RemoveAll(dir)
}
