// Package files restricts a store's files to their user and hides differences between systems: locks, owners, network
// file systems. Its errors are the system's own, or an *UnsafePathError.
package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"opdeck/internal/system/wholefile"
)

// UnsafePathError is why opdeck does not trust a folder or a file with its state.
type UnsafePathError struct {
	Path, Reason string
	Owner        string // as sudo -u takes it, if it belongs to another user, who may use it; else ""
}

// Error is a sentence with the fix.
func (e *UnsafePathError) Error() string { return "store: " + e.Path + " " + e.Reason }

// Foreign is an *UnsafePathError if dir exists and belongs to another user.
func Foreign(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return nil
	}
	return Ours(dir, info)
}

// OwnFolder creates dir with mode 0700 if missing. An existing one must be a real folder that belongs to us and is
// writable by no one else: someone who can replace files in it can replace the session.
func OwnFolder(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		info, err = os.Lstat(dir)
	}
	if err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return &UnsafePathError{Path: dir, Reason: "is a symbolic link: name the real folder"}
	case !info.IsDir():
		return &UnsafePathError{Path: dir, Reason: "is not a folder"}
	}
	if err := Ours(dir, info); err != nil {
		return err
	}
	if writableByOthers(info) {
		return &UnsafePathError{Path: dir,
			Reason: fmt.Sprintf("can be written by others (mode %04o): run chmod 700 on it", info.Mode().Perm())}
	}
	return nil
}

// OwnFile ensures that file is a regular file of ours with mode 0600, and creates it if missing. It never opens an
// existing one: closing any descriptor of a file drops the locks that SQLite holds on it in this process.
func OwnFile(file string) error {
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		if err := wholefile.Create(file, nil); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		info, err = os.Lstat(file)
	}
	if err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return &UnsafePathError{Path: file, Reason: "is a symbolic link: name the real file"}
	case !info.Mode().IsRegular():
		return &UnsafePathError{Path: file, Reason: "is not a plain file"}
	}
	var other *UnsafePathError
	if errors.As(Ours(file, info), &other) {
		return &UnsafePathError{Path: file, Reason: other.Reason + ", but its folder is yours: give it to you with chown"}
	}
	if ReadableByOthers(info) {
		return os.Chmod(file, 0o600)
	}
	return nil
}

// OpenOwn opens a lock file: OwnFile, then for reading and writing. Do not use it for files that SQLite opens.
func OpenOwn(file string) (*os.File, error) {
	if err := OwnFile(file); err != nil {
		return nil, err
	}
	return os.OpenFile(file, os.O_RDWR, 0o600) // Go opens close-on-exec
}

// Hold opens a file of ours and locks it exclusively; ok is false if another process holds the lock. Closing the file
// releases the lock.
func Hold(file string) (f *os.File, ok bool) {
	f, err := OpenOwn(file)
	if err != nil {
		return nil, false
	}
	if ok, err := Lock(f, true, false); err != nil || !ok {
		_ = f.Close()
		return nil, false
	}
	return f, true
}

// Free reports whether no one holds the exclusive lock of an open file, and closes it; false when in doubt.
func Free(f *os.File) bool {
	defer func() { _ = f.Close() }()
	ok, err := Lock(f, false, false)
	return ok && err == nil
}

// nearest is dir or, if it does not exist, its nearest existing parent.
func nearest(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return dir
		}
		dir = up
	}
}

// NetworkDiskError: SQLite would be on a network file system.
type NetworkDiskError struct{ Dir, System string }

// Error is a sentence that suggests PostgreSQL.
func (e *NetworkDiskError) Error() string {
	return fmt.Sprintf(
		"store: %s is on a network file system (%s), where SQLite loses data; use a local folder, or PostgreSQL for "+
			"several hosts ([store] url = \"postgres://…\")", e.Dir, e.System)
}

// RefuseNetworkDisk returns an error if dir is on a file system shared by several hosts (rule A6), where SQLite's
// write-ahead log gets corrupted. system returns the remote file system of a folder, "" for a local one.
func RefuseNetworkDisk(dir string, system func(dir string) (string, error)) error {
	if system == nil {
		system = remoteSystem
	}
	name, err := system(nearest(dir))
	if err != nil {
		return err
	}
	if name != "" {
		return &NetworkDiskError{Dir: dir, System: name}
	}
	return nil
}
