package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// use is the resource usage of a process.
type use struct {
	cpu     time.Duration // user and system, all threads that live
	wakeups int64         // voluntary context switches of its threads
	peak    int64         // high-water mark of resident memory, bytes
	rss     int64         // resident memory now, bytes
}

// usage reads /proc; CPU in nanoseconds from schedstat.
func usage(pid int) (u use, err error) {
	dir := fmt.Sprintf("/proc/%d", pid)
	threads, err := filepath.Glob(dir + "/task/*")
	if err != nil || len(threads) == 0 {
		return u, fmt.Errorf("process %d has ended", pid)
	}
	for _, t := range threads {
		b, err := os.ReadFile(filepath.Join(t, "schedstat"))
		if err != nil {
			continue // a thread that has just ended
		}
		if f := bytes.Fields(b); len(f) > 0 {
			n, _ := strconv.ParseInt(string(f[0]), 10, 64)
			u.cpu += time.Duration(n)
		}
		if b, err := os.ReadFile(filepath.Join(t, "status")); err == nil {
			u.wakeups += field(b, "voluntary_ctxt_switches:")
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return u, err
	}
	u.peak, u.rss = field(b, "VmHWM:")<<10, field(b, "VmRSS:")<<10
	return u, nil
}

// field reads a number from a status file.
func field(b []byte, name string) int64 {
	for line := range bytes.Lines(b) {
		if f := bytes.Fields(line); len(f) > 1 && string(f[0]) == name {
			n, _ := strconv.ParseInt(string(f[1]), 10, 64)
			return n
		}
	}
	return 0
}
