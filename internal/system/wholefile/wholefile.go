// Package wholefile writes files that are complete or not there. They have mode
// 0600, and file and folder entry are on the disk before a call returns.
package wholefile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// Create writes a file that does not exist yet. When there is one, the error is
// fs.ErrExist and it stays as it is.
func Create(path string, content []byte) error { return write(path, content, Link) }

// Replace writes a file, in place of the one that may be there.
func Replace(path string, content []byte) error { return write(path, content, Rename) }

func write(path string, content []byte, put func(tmp, path string) error) error {
	f, err := begin(path, put)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return f.Finish(err)
}

// File is a file that is written in pieces under another name in its folder, and gets
// its own when it is whole: a process that is killed leaves no part under that.
type File struct {
	*os.File
	path string
	put  func(tmp, path string) error
}

// New begins a file that does not exist yet; fs.ErrExist when there is one, and at
// Finish when one came meanwhile.
func New(path string) (*File, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	return begin(path, Link)
}

// Over begins a file that takes the place of the one that may be there.
func Over(path string) (*File, error) { return begin(path, Rename) }

// errName refuses a name that a terminal would take for a command when it is listed.
var errName = errors.New("the name holds a control character")

func begin(path string, put func(tmp, path string) error) (*File, error) {
	if strings.ContainsFunc(path, unicode.IsControl) {
		return nil, &fs.PathError{Op: "create", Path: path, Err: errName}
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return nil, err
	}
	return &File{tmp, path, put}, nil
}

// Finish ends the file. With err, how writing it went, or when it cannot be ended, nothing
// of it is left and the error returned.
func (f *File) Finish(err error) error {
	defer func() { _ = os.Remove(f.Name()) }()
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return f.put(f.Name(), f.path)
}

// Write is New, fn and Finish.
func Write(path string, fn func(io.Writer) error) error {
	f, err := New(path)
	if err != nil {
		return err
	}
	return f.Finish(fn(f))
}

// Link gives a complete file another name in its folder; fs.ErrExist when that name
// is taken. The first name may be gone then.
func Link(file, name string) error { return durable(name, put(os.Link, file, name)) }

// put links, and where a file system has no links takes the name with an empty file, which
// fails like a link when the name is taken, and moves the complete one over that. A process
// that is killed in between leaves it empty.
func put(link func(file, name string) error, file, name string) error {
	err := link(file, name)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	empty, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(empty.Close(), os.Rename(file, name)); err != nil {
		_ = os.Remove(name)
	}
	return err
}

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
