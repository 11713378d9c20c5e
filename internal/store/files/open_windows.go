package files

import (
	"io/fs"
	"os"
)

// OpenNoFollow opens file for reading; a symbolic link is an error.
func OpenNoFollow(file string) (*os.File, error) {
	if info, err := os.Lstat(file); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, &os.PathError{Op: "open", Path: file, Err: fs.ErrInvalid}
	}
	return os.Open(file)
}
