// Package newfile writes files that did not exist before, whole or not at all.
package newfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write makes a file of mode 0600 of what fill writes. It appears under its name closed
// and complete: a fill that fails, or a process that ends, leaves nothing there. A file
// that is there already is left alone; the error is fs.ErrExist then, in most cases
// before fill is called.
func Write(path string, fill func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	if err := fill(tmp); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err := errors.Join(tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Link(tmp.Name(), path)
}
