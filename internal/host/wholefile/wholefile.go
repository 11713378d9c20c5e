// Package wholefile writes files that are complete or not there. They have mode
// 0600, and file and folder entry are on the disk before a call returns.
package wholefile

import (
	"errors"
	"os"
	"path/filepath"
)

// Create writes a file that does not exist yet. When there is one, the error is
// fs.ErrExist and it stays as it is.
func Create(path string, content []byte) error { return write(path, content, Link) }

// Replace writes a file, in place of the one that may be there.
func Replace(path string, content []byte) error { return write(path, content, Rename) }

func write(path string, content []byte, put func(tmp, path string) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.Write(content)
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return put(tmp.Name(), path)
}

// Link gives a complete file another name in its folder; fs.ErrExist when that name
// is taken.
func Link(file, name string) error { return durable(name, os.Link(file, name)) }

// Rename gives a complete file another name in its folder, in place of the file that
// may have it.
func Rename(file, name string) error { return durable(name, os.Rename(file, name)) }

// durable writes the folder of a name that was given to the disk.
func durable(name string, err error) error {
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	_ = dir.Sync() // not every system can
	return dir.Close()
}

// New opens a new file to be written in pieces, and ended by Close; fs.ErrExist when
// there is one of that name.
func New(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// Close ends a file of New. With err, how writing it went, or when it cannot be
// ended, it is removed and the error returned.
func Close(f *os.File, err error) error {
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
