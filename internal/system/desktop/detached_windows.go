package desktop

import "syscall"

// detached keeps our console's ctrl+c from the program.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
