//go:build !linux

package store

import (
	"errors"
	"os"
)

// watchFolder is for Linux only: elsewhere the caller looks now and then.
func watchFolder(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func drainEvents(*os.File, []byte) {}
