package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// UnsafePathError says why opdeck does not trust a folder or a file with its
// state.
type UnsafePathError struct{ Path, Reason string }

// Error is a sentence with the cure.
func (e *UnsafePathError) Error() string { return "store: " + e.Path + " " + e.Reason }

// ownFolder creates dir with mode 0700 when it is missing. An existing one must
// be a real folder that belongs to us and that nobody else can write to:
// whoever can swap files in it can swap the session.
func ownFolder(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fileError(dir, err)
		}
		info, err = os.Lstat(dir)
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return &UnsafePathError{dir, "is a symbolic link: name the real folder"}
	case !info.IsDir():
		return &UnsafePathError{dir, "is no folder"}
	}
	if err := ours(dir, info); err != nil {
		return err
	}
	if writableByOthers(info) {
		return &UnsafePathError{dir, fmt.Sprintf("can be written by others (mode %04o): run chmod 700 on it", info.Mode().Perm())}
	}
	return nil
}

// ownFile sees to it that file exists as a plain file of ours with mode 0600.
// It never opens an existing one: closing any descriptor of a file would drop
// the locks that SQLite holds on it elsewhere in this process.
func ownFile(file string) error {
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		if err := createFile(file); err != nil {
			return err
		}
		info, err = os.Lstat(file)
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return &UnsafePathError{file, "is a symbolic link: name the real file"}
	case !info.Mode().IsRegular():
		return &UnsafePathError{file, "is no plain file"}
	}
	if err := ours(file, info); err != nil {
		return err
	}
	if readableByOthers(info) {
		if err := os.Chmod(file, 0o600); err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	return nil
}

// createFile makes an empty file of mode 0600 unless somebody is faster. It
// appears under its name closed and complete.
func createFile(file string) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), ".new-*") // mode 0600
	if err != nil {
		return fileError(file, err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	if err := tmp.Close(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := os.Link(tmp.Name(), file); err != nil && !errors.Is(err, fs.ErrExist) {
		return fileError(file, err)
	}
	return nil
}

// nearest is dir or, while it does not exist, the folder that it would be
// created in.
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
