package listen

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Ours reports whether a process of this program listens on the port of a TCP address. It is false if that cannot be
// seen, for example because the process belongs to another user.
func Ours(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	n, numErr := strconv.ParseUint(port, 10, 16)
	self, selfErr := os.Executable()
	if err != nil || numErr != nil || selfErr != nil {
		return false
	}
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		listening(table, fmt.Sprintf(":%04X", n), sockets)
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil || len(sockets) == 0 {
		return false
	}
	for _, link := range links {
		to, err := os.Readlink(link)
		if err != nil || !sockets[to] {
			continue
		}
		exe, err := os.Readlink(filepath.Join(filepath.Dir(filepath.Dir(link)), "exe"))
		if err == nil && filepath.Base(strings.TrimSuffix(exe, " (deleted)")) == filepath.Base(self) {
			return true
		}
	}
	return false
}

// listening adds the sockets of a table that listen on a port, as the links in /proc name them.
func listening(table, port string, sockets map[string]bool) {
	f, err := os.Open(table)
	if err != nil {
		return
	}
	defer f.Close()
	const state, inode, listens = 3, 9, "0A"
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if c := strings.Fields(lines.Text()); len(c) > inode && strings.HasSuffix(c[1], port) && c[state] == listens {
			sockets["socket:["+c[inode]+"]"] = true
		}
	}
}
