//go:build !linux

package store

import "io/fs"

// handle would keep a file known after its name is gone; here there is none, and a
// deleted file is not put back.
type handle struct{}

func openHandle(string) *handle { return nil }

func (h *handle) deleted() bool { return false }
func (h *handle) close()        {}

func inode(fs.FileInfo) (dev, ino int64, ok bool) { return 0, 0, false }
