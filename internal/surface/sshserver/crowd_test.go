package sshserver

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"opdeck/api/apitest"
	"opdeck/internal/system/listen"
)

// crowd makes a fixture for n people p0, p1 …, who all have one key file each.
func crowd(t testing.TB, n int, change func(*Options)) (*fixture, []gossh.Signer) {
	t.Helper()
	var people []gossh.Signer
	h := open(t, func(h *fixture, o *Options) {
		lines := strings.Builder{}
		for i := range n {
			people = append(people, key(t, h.dir, fmt.Sprintf("p%d", i)))
			fmt.Fprintf(&lines, "name=\"p%d\",role=\"operator\" %s", i, line(people[i]))
		}
		b, err := os.ReadFile(h.keys())
		if err != nil {
			t.Fatal(err)
		}
		write(t, h.keys(), string(b)+lines.String())
		if o.Keys, err = LoadAuthorizedKeys(h.keys(), "", time.Now); err != nil {
			t.Fatal(err)
		}
		o.Limits.Conns, o.Limits.PerPerson = 1000, 1000
		if change != nil {
			change(o)
		}
	})
	return h, people
}

// scaled is smaller under the race detector and -short.
func scaled(full, small int) int {
	if testing.Short() || raceOn {
		return small
	}
	return full
}

// fill opens n consoles, some at a time, and waits for the first frame of each.
func fill(t testing.TB, h *fixture, people []gossh.Signer, n, at int) []*console {
	t.Helper()
	out := make([]*console, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range at {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				who := i % len(people)
				c, err := h.dial(fmt.Sprintf("p%d", who), people[who])
				if err != nil {
					t.Errorf("session %d: %v", i, err)
					return
				}
				t.Cleanup(func() { _ = c.Close() })
				out[i] = h.console(c)
				out[i].shows(t, "hello p")
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return out
}

// 200 sessions at once: what they cost, how fast they come, and that nothing of
// them is left.
func TestTwoHundredAtOnce(t *testing.T) {
	n := scaled(200, 60)
	h, people := crowd(t, 20, func(o *Options) { o.MaxSessions = 300 })
	began, used := time.Now(), processor(t)
	all := fill(t, h, people, n, 5)
	rate, each := float64(n)/time.Since(began).Seconds(), (processor(t)-used)/time.Duration(n)
	if got := h.sessions(); got != n {
		t.Errorf("%d sessions are open", got)
	}
	all[n-1].key(t, "z")
	all[n-1].shows(t, "z]")
	t.Logf("%d sessions, %.0f new sessions a second, %s of a processor for both sides of each, %d goroutines", n, rate,
		each, runtime.NumGoroutine())
	// the rate depends on what else this host does
	if most := time.Duration(scaled(20, 160)) * time.Millisecond; each > most {
		t.Errorf("a new session takes %s of a processor, want %s; 20 ms without the race detector are fifty a second", each,
			most)
	}
	h.stop()
	if open, on := h.sessions(), len(h.srv.authenticated()); open != 0 || on != 0 ||
		len(h.trail.find("console.close", "server_stop")) != n {
		t.Errorf("after the end: %d sessions on %d connections", open, on)
	}
	for _, c := range all {
		if !strings.Contains(c.out.String(), "\x1b[?1049l") {
			t.Error("a terminal was not restored")
			break
		}
	}
}

// processor is the time that this process was on a processor.
func processor(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// The memory of idle sessions, both sides of each in this process, so the figure
// is above what the server alone takes.
func TestMemoryOfAnIdleSession(t *testing.T) {
	const n = 100
	h, people := crowd(t, 20, nil)
	before := memory()
	fill(t, h, people, n, 5)
	each := (memory() - before) / int64(n)
	t.Logf("%d KB for an idle session, client's side included", each>>10)
	if each > 1<<20 {
		t.Errorf("%d bytes for an idle session, want below 1 MB", each)
	}
}

func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

func TestWindowChanges(t *testing.T) {
	h := open(t, nil)
	c := h.login("ana")
	x := h.console(c)
	x.shows(t, "hello ana")
	for i := range 3000 {
		if err := x.WindowChange(10+i%40, 40+i%100); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.WindowChange(33, 133); err != nil {
		t.Fatal(err)
	}
	x.shows(t, "133x33")
	for _, bad := range [][2]int{{0, 0}, {65535, 65535}, {1 << 31, 1 << 31}} {
		_ = x.WindowChange(bad[0], bad[1])
	}
	x.shows(t, "1000x500")
	x.key(t, "q")
	_ = x.Wait()
	for range 300 { // no one is there to take them
		_ = x.WindowChange(20, 20)
	}
	y := h.console(c) // the connection is as good as before
	y.shows(t, "hello ana")
}

func TestSessionsAreCounted(t *testing.T) {
	h, people := crowd(t, 1, func(o *Options) {
		o.MaxSessions, o.Limits.PerPerson, o.Limits.PerConn, o.Limits.Conns = 16,
			14, 2, 100
	})
	c, err := h.dial("p0", people[0])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	h.console(c).shows(t, "hello")
	h.console(c).shows(t, "hello")
	if _, err := c.NewSession(); err == nil || !strings.Contains(err.Error(), "this connection has reached") {
		t.Errorf("a third session on one connection: %v", err)
	}
	for range 300 {
		_, _ = c.NewSession()
	}
	if n := h.sessions(); n != 2 {
		t.Errorf("%d sessions", n)
	}
	fill(t, h, people, 10, 5) // 12 are taken, 4 are kept
	if _, err := h.login("ana").NewSession(); err == nil || !strings.Contains(err.Error(), "the server has reached") {
		t.Errorf("one more than there is room for: %v", err)
	}
	h.console(h.login("root")).shows(t, "hello root (admin)")
	if n := len(h.trail.find("ssh.refused", "no session: ")); n == 0 {
		t.Error("the refusals are not recorded")
	}
}

func TestOnePersonsSessions(t *testing.T) {
	h := open(t, nil)
	for range 2 {
		c := h.login("ana")
		h.console(c).shows(t, "hello")
		h.console(c).shows(t, "hello")
	}
	if _, err := h.login("ana").NewSession(); err == nil || !strings.Contains(err.Error(), "limit of open sessions") {
		t.Errorf("a fifth session: %v", err)
	}
	h.console(h.login("bo")).shows(t, "hello bo")
}

// Thousands of connections that say nothing hold a few places for a short time;
// those inside do not notice.
func TestSilentConnections(t *testing.T) {
	h := open(t, func(_ *fixture, o *Options) {
		// others shake hands within it on a busy machine
		o.Limits.Handshake = 2 * time.Second
	})
	x := h.console(h.login("ana"))
	x.shows(t, "hello ana")
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	for range listen.MaxConns + 100 {
		c, err := net.Dial("tcp", h.addr)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	x.key(t, "a")
	x.shows(t, "a]")
	// One that drips is cut off at the limit of the handshake.
	drip, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer drip.Close()
	apitest.Soon(t, "the dripping one is cut off", func() bool {
		_, err := drip.Write([]byte("S"))
		_ = drip.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		if _, readErr := io.Copy(io.Discard, drip); readErr == nil { // closed
			return true
		}
		return err != nil
	})
	apitest.Soon(t, "somebody real gets in", func() bool {
		c, err := h.dial("bo", h.signer("bo"))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	if h.srv.Refused()["silent"] == 0 {
		t.Error("nobody was turned away")
	}
}

func TestEnvironmentIsBounded(t *testing.T) {
	h := open(t, nil)
	c := h.login("ana")
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{"COLORTERM": true, "LC_ALL": true, "LD_PRELOAD": false, "PATH": false,
		"LC_BIG": false} {
		value := "x"
		if name == "LC_BIG" {
			value = strings.Repeat("x", 30_000)
		}
		if err := s.Setenv(name, value); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	cut := false
	for i := range 1000 {
		if _, err := s.SendRequest("env", true, gossh.Marshal(struct{ N, V string }{fmt.Sprintf("LC_%d", i),
			strings.Repeat("x", 30_000)})); err != nil {
			cut = true
			break
		}
	}
	if !cut {
		t.Error("a thousand variables were listened to")
	}
}

func TestPanicsStayInside(t *testing.T) {
	h := open(t, nil)
	other := h.console(h.login("bo"))
	other.shows(t, "hello bo")
	for _, k := range []string{"!", "@"} {
		x := h.console(h.login("ana"))
		x.shows(t, "hello ana")
		x.key(t, k)
		if err := x.Wait(); exitOf(err) <= 0 {
			t.Errorf("after a panic: %v", err)
		}
		if strings.Contains(x.out.String(), "secret") {
			t.Errorf("the panic is shown: %s", x.out)
		}
	}
	if _, err := run1(h, "ana", "boom"); exitOf(err) != 1 {
		t.Errorf("after a panic in a command: %v", err)
	}
	if strings.Contains(h.log.String(), "secret") {
		t.Errorf("the panic's value is logged: %s", h.log)
	}
	other.key(t, "x")
	other.shows(t, "x]")
}
