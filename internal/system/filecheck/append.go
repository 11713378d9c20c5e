package filecheck

import (
	"errors"
	"os"
)

// errNotRegular: the name is that of a folder, a pipe, a device or a link.
var errNotRegular = errors.New("it is not a regular file")

// Append opens a regular file for appending, and creates it with mode 0600 if missing. It refuses a link, a pipe, a
// device and a folder, and never blocks.
func Append(path string) (*os.File, error) {
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() {
		return nil, errNotRegular
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|noFollow, 0o600)
	if err != nil {
		return nil, why(err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// why is an error without the path, which the caller adds.
func why(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
