//go:build !unix

package store

import (
	"os"
)

// holder reports whether a process has a SQLite file open: the system then refuses to rename its shared index.
func holder(path string) (pid int, held bool) {
	index := path + "-shm"
	if _, err := os.Lstat(index); err != nil {
		return 0, false
	}
	if err := os.Rename(index, index+".held"); err != nil {
		return 0, true
	}
	return 0, os.Rename(index+".held", index) != nil
}
