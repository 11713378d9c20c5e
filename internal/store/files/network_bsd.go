//go:build darwin || freebsd

package files

import (
	"os"

	"golang.org/x/sys/unix"
)

func remoteSystem(dir string) (string, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", os.NewSyscallError("statfs", err)
	}
	if st.Flags&unix.MNT_LOCAL != 0 {
		return "", nil
	}
	name := unix.ByteSliceToString(st.Fstypename[:])
	if name == "" {
		name = "not local"
	}
	return name, nil
}
