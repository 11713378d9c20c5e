package store

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// leastRoom is less than one write to a database needs, in bytes.
const leastRoom = 64 << 10

// noRoom reports whether the file system of a file has no space left for this user.
func noRoom(path string) bool {
	var st unix.Statfs_t
	if unix.Statfs(filepath.Dir(path), &st) != nil || st.Blocks == 0 {
		return false
	}
	return st.Bavail*uint64(st.Bsize) < leastRoom //nolint:gosec // no block size is negative
}

// lockHolders are the other processes that hold a lock on a file or its -shm or .lock file, as the kernel lists them:
// who holds that of SQLite first. It lists them in pieces, and where locks come and go meanwhile a piece may lack one:
// that of SQLite is looked for three times.
func lockHolders(path string) (out []int) {
	for range 3 {
		var holds bool
		if out, holds = listedHolders(path); holds {
			break
		}
	}
	return out
}

// listedHolders are the holders in one list; holds reports whether the first holds a lock of SQLite.
func listedHolders(path string) (out []int, holds bool) {
	text, err := os.ReadFile("/proc/locks")
	if err != nil {
		return nil, true
	}
	order := map[string]int{} // of the files: who waits for a lock of SQLite may hold the last one
	for i, name := range []string{path, path + "-shm", path + ".lock"} {
		var st unix.Stat_t
		if unix.Stat(name, &st) == nil {
			order[fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)] = i
		}
	}
	var found [3][]int
	for line := range strings.Lines(string(text)) { // "1: POSIX ADVISORY WRITE 1234 fe:00:5678 0 EOF"
		f := strings.Fields(line)
		if len(f) < 8 || f[1] == "->" || f[3] != "WRITE" {
			continue
		}
		if i, ours := order[f[5]]; ours {
			if pid, err := strconv.Atoi(f[4]); err == nil && pid > 0 {
				found[i] = append(found[i], pid)
			}
		}
	}
	seen := map[int]bool{os.Getpid(): true}
	for _, pid := range slices.Concat(found[:]...) {
		if !seen[pid] {
			seen[pid] = true
			out = append(out, pid)
		}
	}
	return out, len(found[0])+len(found[1]) > 0
}

func mayWrite(path string) error { return unix.Access(path, unix.W_OK) }
