package desktop

import "syscall"

// detached keeps ctrl+c at our console from the program.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
