//go:build unix && !linux

package harden

// Process keeps the kernel from writing this process's memory to a core file.
func Process() error { return noCore() }
