//go:build unix

package desktop

import "syscall"

// detached starts a program in a session of its own, without our terminal.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
