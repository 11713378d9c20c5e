//go:build unix && !linux

package entry

// harden keeps the kernel from writing this process's memory to a core file.
func harden() error { return noCore() }
