// Package wholefile writes files completely or not at all. They have mode 0600, and the file and its folder entry are
// synced to disk before a call returns.
package wholefile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Create writes a new file. If it exists, the error is fs.ErrExist and the file is unchanged.
func Create(path string, content []byte) error { return write(path, content, Link) }

// Replace writes a file and replaces an existing one.
func Replace(path string, content []byte) error { return write(path, content, Rename) }

func write(path string, content []byte, put func(tmp, path string) error) error {
	f, err := begin(path, put)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return f.Finish(err)
}

// File is written in pieces under a temporary name in its folder and renamed when complete, so that a killed process
// leaves no partial file under the final name.
type File struct {
	*os.File
	path string
	put  func(tmp, path string) error
}

// New begins a new file; fs.ErrExist if it exists, also from Finish.
func New(path string) (*File, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	return begin(path, Link)
}

// Over begins a file that replaces an existing one.
func Over(path string) (*File, error) { return begin(path, Rename) }

// errName refuses a name with characters that control a terminal when listed.
var errName = errors.New("the name holds a control character")

func begin(path string, put func(tmp, path string) error) (*File, error) {
	if strings.ContainsFunc(path, unicode.IsControl) {
		return nil, &fs.PathError{Op: "create", Path: path, Err: errName}
	}
	tmp, err := Temp(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	return &File{tmp, path, put}, nil
}

// temporary begins all temporary names, and abandoned is how long after its last change a file or folder is left over
// from a process that was killed.
const (
	temporary = ".new-"
	abandoned = 24 * time.Hour
)

var swept sync.Map // folders of this process

// Temp makes a file with a temporary name and mode 0600. The caller removes it or gives it a name; if it is killed, a
// later process removes it.
func Temp(dir string) (*os.File, error) {
	sweepOnce(dir)
	return os.CreateTemp(dir, temporary+"*")
}

// TempDir is Temp for a folder, with mode 0700.
func TempDir(dir string) (string, error) {
	sweepOnce(dir)
	return os.MkdirTemp(dir, temporary+"*")
}

func sweepOnce(dir string) {
	if _, done := swept.LoadOrStore(dir, true); !done {
		Sweep(dir)
	}
}

// Sweep removes what processes that were killed left in a folder under temporary names and did not change for a day.
func Sweep(dir string) {
	entries, _ := os.ReadDir(dir) // what cannot be removed now, the next process tries again
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), temporary) && time.Since(info.ModTime()) > abandoned {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// Finish completes the file. If err, the caller's result of writing, is not nil, or on failure, it removes the file
// and returns the error.
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

// Link gives a complete file a second name in its folder; fs.ErrExist if that name exists. The first name may be gone
// afterwards.
func Link(file, name string) error { return durable(name, put(os.Link, file, name)) }

// put links. On a file system without links it reserves the name with an empty file, which fails like a link if the
// name exists, and moves the complete file over it. A process killed in between leaves an empty file.
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

// Rename renames a complete file within its folder and replaces an existing one.
func Rename(file, name string) error { return durable(name, os.Rename(file, name)) }

// durable syncs the folder of a new name to disk.
func durable(name string, err error) error {
	if err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(name))
}

// SyncFolder syncs the names in a folder to disk, where the system can.
func SyncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = f.Sync() // not every system can
	return f.Close()
}
