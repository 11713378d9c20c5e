//go:build unix

// Package harden closes what the system leaves open about a running process.
package harden

import "golang.org/x/sys/unix"

// noCore forbids core files, for good.
func noCore() error { return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }
