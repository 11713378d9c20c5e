//go:build unix

package desktop

import "syscall"

// detached gives a program a session of its own, without our terminal.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
