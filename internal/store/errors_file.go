package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"opdeck/internal/store/files"
)

// errNotDir is the error for a path below something that is no longer a folder.
var errNotDir error = syscall.ENOTDIR

// fileError converts an error of the file system to an *Error if opdeck knows its kind.
func fileError(path string, err error) error {
	var unsafe *files.UnsafePathError
	var network *files.NetworkDiskError
	if err == nil || errors.As(err, &unsafe) || errors.As(err, &network) {
		return err
	}
	if kind := fileKind(err); kind != "" {
		if errors.Is(err, syscall.EROFS) {
			return &Error{Kind: kind, Where: path, Err: err, text: onReadOnlyDisk}
		}
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

// probeSize is more than SQLite needs to open a file, in bytes.
const probeSize = 128 << 10

// probeFolder creates a file in dir and writes to it, like SQLite, and returns the system's own error, which SQLite
// does not report.
func probeFolder(dir string) error {
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probeSize))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
