//go:build !unix

package sshd

import "os"

// Access lists of other systems are not looked at.
func private(os.FileInfo) error { return nil }

func trusted(os.FileInfo) error { return nil }
