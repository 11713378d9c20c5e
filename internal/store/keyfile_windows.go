package store

import (
	"io/fs"
	"os"
)

// openNoFollow opens file for reading; a symbolic link is an error.
func openNoFollow(file string) (*os.File, error) {
	if info, err := os.Lstat(file); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, &os.PathError{Op: "open", Path: file, Err: fs.ErrInvalid}
	}
	return os.Open(file)
}
