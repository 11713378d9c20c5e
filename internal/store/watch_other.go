//go:build !linux

package store

import (
	"errors"
	"io"
)

// watchFolder is for Linux only: elsewhere the caller looks now and then.
func watchFolder(string) (io.ReadCloser, error) { return nil, errors.ErrUnsupported }
