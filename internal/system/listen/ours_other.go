//go:build !linux

package listen

// Ours reports whether a process of this program listens on the port of a TCP address. It is false if that cannot be
// seen.
func Ours(string) bool { return false }
