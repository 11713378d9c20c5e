package server_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"opdeck/api"
)

// crowd is how many more people there are, beside one of each role: p-0, p-1, …,
// of all roles in turn. Each may open four sessions.
var crowd = max(8, (idleConsoles()+3)/4)

// idleConsoles is OPDECK_CONSOLES, how many consoles BenchmarkIdleConsoles opens; 0 if it is not set.
func idleConsoles() int {
	n, _ := strconv.Atoi(os.Getenv("OPDECK_CONSOLES"))
	return n
}

// tidyOnWord collects garbage whenever a byte comes through standard input.
func tidyOnWord() {
	b := make([]byte, 1)
	for {
		if _, err := os.Stdin.Read(b); err != nil {
			return
		}
		debug.FreeOSMemory()
	}
}

// apart is opdeck serve in a process of its own, with the collector as users have
// it; tidy makes it collect its garbage.
func apart(t testing.TB) (p *place, pid int, tidy func()) {
	t.Helper()
	p = prepare(t, "")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childKey+"="+p.dir, "HOOK_SECRET="+secret)
	cmd.Stdout, cmd.Stderr = p.out, p.errs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		began := time.Now()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil || time.Since(began) > 20*time.Second {
			t.Errorf("SIGTERM: %v after %s: %s", err, time.Since(began), p.errs)
		}
	})
	p.listens()
	return p, cmd.Process.Pid, func() {
		if _, err := io.WriteString(in, "x"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond) // it takes some ten
	}
}

// Each idle console of a server holds less than a megabyte: rows are held once
// for all who look at them.
func TestMemoryOfARealConsole(t *testing.T) {
	p, pid, tidy := apart(t)
	p.console(p.login(api.Admin)) // what is made once
	p.console(p.login(api.Viewer))
	tidy()
	before, rss := p.held(), resident(pid)
	n := 24
	if raceOn {
		n = 16
	}
	for i := range n {
		p.console(p.loginAs(fmt.Sprintf("p-%d", i%crowd)))
	}
	time.Sleep(500 * time.Millisecond)
	grown := (resident(pid) - rss) / float64(n)
	each := 0.0
	for range 20 { // consoles that still start up, on a slow machine, are not idle yet
		tidy()
		if each = (p.held() - before) / float64(n); each <= 1<<20 {
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	t.Logf("each of %d idle consoles holds %.0f KB (heap and stacks); the process grew by %.0f KB for each before its "+
		"garbage was collected, %.0f KB after", n, each/1024, grown/1024, (resident(pid)-rss)/float64(n)/1024)
	if each > 1<<20 {
		t.Errorf("%.0f bytes for an idle console, want below 1 MB", each)
	}
}

// New consoles, to their first frame: one after the other, and eight people at a time. Clients and server share this
// host's processors with other work, so the rate is only reported, and the server's cost of one console is checked where
// many come at a time: fifty a second must take at most one processor. Beside other packages, whose work empties the
// processor's caches, twice as much. One after the other, a second of a server's own work is part of each.
func TestNewConsolesASecond(t *testing.T) {
	p, pid, _ := apart(t)
	p.console(p.login(api.Admin))
	visit := func(i int) {
		c := p.loginAs(fmt.Sprintf("p-%d", i%crowd))
		w := p.console(c)
		_, _ = w.Close(), c.Close()
	}
	n, most := 30, 40*time.Millisecond
	switch {
	case raceOn:
		most = 160 * time.Millisecond
	case os.Getenv("OPDECK_TEST_LONG") == "1":
		n, most = 100, 20*time.Millisecond
	}
	for _, people := range []int{1, 8} {
		began, used := time.Now(), processor(pid)
		var group sync.WaitGroup
		for of := range people {
			group.Go(func() {
				for i := of; i < n; i += people {
					visit(i)
				}
			})
		}
		group.Wait()
		each := (processor(pid) - used) / time.Duration(n)
		t.Logf("%.0f new consoles a second, %d at a time; each takes %s of the server's processor",
			float64(n)/time.Since(began).Seconds(), people, each)
		if people > 1 && each > most {
			t.Errorf("a new console takes %s of a processor, want %s; 20 ms without the race detector are fifty a second", each,
				most)
		}
	}
}

// processor is the CPU time of a process; 0 if the system does not report it.
func processor(pid int) time.Duration {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	sum := time.Duration(0)
	for _, i := range []int{11, 12} { // user and system, in hundredths of a second
		n, err := strconv.Atoi(f[i])
		if err != nil {
			return 0
		}
		sum += time.Duration(n) * 10 * time.Millisecond
	}
	return sum
}

// held is the memory of the heap and of stacks in bytes.
func (p *place) held() (sum float64) {
	p.t.Helper()
	for line := range strings.Lines(p.scrape()) {
		f := strings.Fields(line)
		if len(f) != 2 || f[0] != "go_memstats_alloc_bytes" && f[0] != "go_memstats_stack_inuse_bytes" {
			continue
		}
		v, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			p.t.Fatal(err)
		}
		sum += v
	}
	return sum
}

// resident is the memory of a process in bytes; 0 if the system does not report it.
func resident(pid int) float64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	pages, err := strconv.ParseFloat(f[1], 64)
	if err != nil {
		return 0
	}
	return pages * float64(os.Getpagesize())
}

// BenchmarkIdleConsoles is what a server with OPDECK_CONSOLES idle consoles takes in a minute, with -benchtime 1x. The
// consoles' clients are in this process, the server is not.
func BenchmarkIdleConsoles(b *testing.B) {
	n := idleConsoles()
	if n == 0 {
		b.Skip("OPDECK_CONSOLES is not set to a number of consoles")
	}
	p, pid, tidy := apart(b)
	for i := range n {
		p.console(p.loginAs(fmt.Sprintf("p-%d", i%crowd)))
	}
	tidy()
	began, used := time.Now(), processor(pid)
	for b.Loop() {
		time.Sleep(time.Minute)
	}
	b.ReportMetric(100*float64(processor(pid)-used)/float64(time.Since(began)), "%CPU")
	b.ReportMetric(resident(pid)/(1<<20), "MB")
}
