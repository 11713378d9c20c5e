//go:build unix

package entry

import "golang.org/x/sys/unix"

// noCore disables core files permanently.
func noCore() error { return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }
