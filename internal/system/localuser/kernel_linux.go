package localuser

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// noLogin is the kernel's login user id of a process without a login.
const noLogin = 1<<32 - 1

// procRoot is the inode of the root of every proc file system.
const procRoot = 1

// errNotProc: something else is mounted at /proc.
var errNotProc = errors.New("localuser: /proc is not a proc file system")

// readProc reads a small file of /proc. In a user namespace of their own, anyone can mount files over those of
// /proc, so it follows no mount.
func readProc(name string) (string, error) {
	root, err := unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(root) }()
	var fs unix.Statfs_t
	var st unix.Stat_t
	if err := errors.Join(unix.Fstatfs(root, &fs), unix.Fstat(root, &st)); err != nil {
		return "", err
	}
	if fs.Type != unix.PROC_SUPER_MAGIC || st.Ino != procRoot {
		return "", errNotProc
	}
	fd, err := unix.Openat2(root, name,
		&unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_MAGICLINKS})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // Linux before 5.6, or a system call filter
		fd, err = unix.Openat(root, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return "", err
	}
	if fs.Type != unix.PROC_SUPER_MAGIC {
		return "", errNotProc
	}
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	return strings.TrimSpace(string(b)), err
}

func loginUID() string {
	s, err := readProc("self/loginuid")
	if err != nil {
		return ""
	}
	if n, err := strconv.ParseUint(s, 10, 32); err != nil || n == noLogin {
		return ""
	}
	return s
}

func bootID() string {
	s, err := readProc("sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return s
}

// mapped says why the person may have chosen the user id: every user can create a user namespace and have any user id
// in it.
func mapped() string {
	s, err := readProc("self/uid_map")
	switch {
	case errors.Is(err, os.ErrNotExist) && noNamespaces():
		return ""
	case err != nil:
		return "may come from a user namespace: /proc cannot be read"
	case !identity(s):
		return "belongs to a user namespace, where users choose it"
	}
	return ""
}

// noNamespaces reports whether the kernel was built without user namespaces.
func noNamespaces() bool {
	_, err := readProc("self/status")
	return err == nil
}

// identity reports whether a uid_map maps every user id to itself, as on the host.
func identity(uidMap string) bool {
	f := strings.Fields(uidMap)
	return len(f) == 3 && f[0] == "0" && f[1] == "0" && f[2] == strconv.FormatUint(noLogin, 10)
}
