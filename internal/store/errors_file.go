package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"opdeck/internal/store/files"
)

// errNotDir is what a name gives below something that is not a folder any more.
var errNotDir error = syscall.ENOTDIR

// fileError gives an error of the file system the kind that opdeck knows for it.
func fileError(path string, err error) error {
	var unsafe *files.UnsafePathError
	var network *files.NetworkDiskError
	if err == nil || errors.As(err, &unsafe) || errors.As(err, &network) {
		return err
	}
	if kind := fileKind(err); kind != "" {
		return &Error{Kind: kind, Where: path, Err: err}
	}
	return fmt.Errorf("store: %w", err)
}

func fileKind(err error) Kind {
	switch {
	case files.NoRoom(err):
		return Full
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ReadOnly
	}
	return ""
}

// probeSize is more than SQLite asks for at a time when it opens a file.
const probeSize = 128 << 10

// probeFolder tries what SQLite does in dir, make a file and write to it, and
// returns the system's own error, which SQLite does not pass on.
func probeFolder(dir string) error {
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probeSize))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
