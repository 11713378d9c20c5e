package entry

import (
	"errors"

	"golang.org/x/sys/unix"
)

// harden keeps other processes of the same user from reading this one's memory and environment (PR_SET_DUMPABLE),
// and the kernel from writing them to a core file. Child processes inherit the second only.
func harden() error {
	return errors.Join(noCore(), unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
}
