//go:build unix

// Package harden protects the memory of the running process.
package harden

import "golang.org/x/sys/unix"

// noCore disables core files permanently.
func noCore() error { return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }
