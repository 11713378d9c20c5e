package sshserver

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"opdeck/api/apitest"
	"opdeck/internal/e2e/lockedbuffer"
	"opdeck/internal/store/storetest"
)

// needSSH skips a test, or fails it when $OPDECK_TEST_REQUIRE names ssh.
func needSSH(t testing.TB) {
	t.Helper()
	for _, tool := range []string{"ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(tool); err != nil {
			storetest.Missing(t, "ssh", "the OpenSSH client is not installed ("+tool+")")
		}
	}
}

// ssh is the OpenSSH client on the fixture, with a key of it.
func (h *fixture) ssh(ctx context.Context, key string, args ...string) *exec.Cmd {
	_, port, _ := net.SplitHostPort(h.addr)
	known := filepath.Join(h.dir, "known_hosts")
	h.known.Do(func() {
		b, _ := os.ReadFile(filepath.Join(h.dir, "host.pub"))
		_ = os.WriteFile(known, []byte(fmt.Sprintf("[127.0.0.1]:%s %s", port, b)), 0o600)
	})
	base := []string{"-F", "none", "-p", port, "-i", filepath.Join(h.dir, key), "-o", "IdentitiesOnly=yes", "-o",
		"BatchMode=yes", "-o", "UserKnownHostsFile=" + known, "-o", "GlobalKnownHostsFile=none", "-o",
		"StrictHostKeyChecking=yes", "-o",
		"IdentityAgent=none"}
	c := exec.CommandContext(ctx, "ssh", append(base, args...)...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "TERM=xterm-256color", "LC_TICK=1"}
	c.WaitDelay = time.Second
	return c
}

// out runs the client to its end.
func (h *fixture) out(key string, args ...string) (stdout, stderr string, code int) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	c := h.ssh(ctx, key, args...)
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if ctx.Err() != nil {
		h.t.Fatalf("ssh %v did not end: %s %s", args, &out, &errs)
	}
	if c.ProcessState == nil {
		h.t.Fatal(err)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

// sitting is the client on a terminal of its own.
type sitting struct {
	*exec.Cmd
	tty *os.File
	out *lockedbuffer.Buffer
}

func (h *fixture) acquire(key string, args ...string) *sitting {
	h.t.Helper()
	s := &sitting{Cmd: h.ssh(context.Background(), key, args...), out: &lockedbuffer.Buffer{}}
	var err error
	if s.tty, err = pty.StartWithSize(s.Cmd, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		h.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 4096)
		for {
			n, err := s.tty.Read(b)
			_, _ = s.out.Write(b[:n])
			if err != nil {
				return
			}
		}
	}()
	h.t.Cleanup(func() {
		_ = s.Process.Signal(syscall.SIGCONT)
		_ = s.Process.Kill()
		_ = s.Cmd.Wait()
		_ = s.tty.Close()
		<-done
	})
	return s
}

func (s *sitting) shows(t testing.TB, text string) {
	t.Helper()
	apitest.Soon(t, "ssh shows "+text+"; it showed "+s.out.String(), func() bool { return strings.Contains(s.out.String(), text) })
}

func TestOpenSSHKeys(t *testing.T) {
	needSSH(t)
	h := open(t, nil)
	out, _, code := h.out("ana", "ana@127.0.0.1", "operation", "get", "o-1")
	if code != 7 || out != "ana operator ssh [\"operation\" \"get\" \"o-1\"]\n" {
		t.Errorf("the right key: %q, exit %d", out, code)
	}
	key(t, h.dir, "stranger")
	if _, errs, code := h.out("stranger", "ana@127.0.0.1", "who"); code != 255 ||
		!strings.Contains(errs, "Permission denied (publickey)") {
		t.Errorf("the wrong key: %q, exit %d", errs, code)
	}
	if _, errs, code := h.out("ana", "bo@127.0.0.1", "who"); code != 255 ||
		!strings.Contains(errs, "This key is ana's. Connect under that name, as in: ssh ana@HOST") {
		t.Errorf("ana's key under bo's name: %q, exit %d", errs, code)
	}
	// A first attempt under ana's name with a stranger's key, then bo's own.
	_, _, _ = h.out("stranger", "ana@127.0.0.1", "who")
	if out, _, _ := h.out("bo", "bo@127.0.0.1", "who"); !strings.HasPrefix(out, "bo viewer") {
		t.Errorf("bo is %q", out)
	}
	if out, _, code := h.out("bo", "-tt", "bo@127.0.0.1", "who"); code != 7 ||
		!strings.HasPrefix(out, "bo viewer ssh [\"who\"]\r\n") {
		t.Errorf("with a terminal: %q, exit %d", out, code)
	}
	c := h.ssh(context.Background(), "ana", "ana@127.0.0.1", "cat")
	c.Stdin = strings.NewReader("line\n")
	if b, err := c.Output(); err != nil || string(b) != "line\n" {
		t.Errorf("through standard input and output: %q, %v", b, err)
	}
}

func TestOpenSSHCertificates(t *testing.T) {
	needSSH(t)
	h := open(t, nil)
	key(t, h.dir, "laptop")
	for _, c := range []struct {
		name string
		sign []string
		ok   bool
	}{
		{"good", []string{"-I", "ana", "-n", "ana,role:viewer", "-V", "-1m:+1h"}, true},
		{"from here", []string{"-I", "ana", "-n", "ana,role:viewer", "-V", "-1m:+1h", "-O", "source-address=127.0.0.0/8"},
			true},
		{"from elsewhere", []string{"-I", "ana", "-n", "ana,role:viewer", "-V", "-1m:+1h", "-O", "source-address=10.0.0.0/8"},
			false},
		{"host", []string{"-h", "-I", "ana", "-n", "ana,role:viewer", "-V", "-1m:+1h"}, false},
		{"nobody", []string{"-I", "ana", "-V", "-1m:+1h"}, false},
		{"somebody else", []string{"-I", "bo", "-n", "bo,role:viewer", "-V", "-1m:+1h"}, false},
		{"no role", []string{"-I", "ana", "-n", "ana", "-V", "-1m:+1h"}, false},
		{"two roles", []string{"-I", "ana", "-n", "ana,role:viewer,role:admin", "-V", "-1m:+1h"}, false},
		{"role root", []string{"-I", "ana", "-n", "ana,role:root", "-V", "-1m:+1h"}, false},
		{"for ever", []string{"-I", "ana", "-n", "ana,role:viewer"}, false},
		{"expired", []string{"-I", "ana", "-n", "ana,role:viewer", "-V", "-2h:-1h"}, false},
		{"not yet", []string{"-I", "ana", "-n", "ana,role:viewer", "-V", "+1h:+2h"}, false},
		{"command", []string{"-I", "ana", "-n", "ana,role:viewer", "-V", "-1m:+1h", "-O", "force-command=/bin/sh"}, false},
	} {
		sign := append([]string{"-q", "-s", filepath.Join(h.dir, "ca"), "-z", "42"},
			append(c.sign, filepath.Join(h.dir, "laptop.pub"))...)
		if b, err := exec.Command("ssh-keygen", sign...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", c.name, err, b)
		}
		out, errs, code := h.out("laptop", "-o", "CertificateFile="+filepath.Join(h.dir, "laptop-cert.pub"), "ana@127.0.0.1",
			"who")
		if ok := code == 7 && strings.HasPrefix(out, "ana viewer"); ok != c.ok {
			t.Errorf("%s: %q %q, exit %d", c.name, out, errs, code)
		}
	}
	if n := len(h.srv.Refused()); n < 8 {
		t.Errorf("%d reasons counted: %v", n, h.srv.Refused())
	}
}

func TestOpenSSHNothingElse(t *testing.T) {
	needSSH(t)
	h := open(t, func(_ *fixture, o *Options) { o.Limits.Unused = 2 * time.Second })
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	free, _ := net.Listen("tcp", "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(free.Addr().String())
	_ = free.Close()

	if _, errs, code := h.out("ana", "-T", "ana@127.0.0.1"); code != 2 || !strings.Contains(errs, "needs a terminal") {
		t.Errorf("no terminal: %q, exit %d", errs, code)
	}
	if _, errs, code := h.out("ana", "-s", "ana@127.0.0.1", "sftp"); code == 0 ||
		!strings.Contains(errs, "subsystem request failed") {
		t.Errorf("sftp: %q, exit %d", errs, code)
	}
	if _, errs, code := h.out("ana", "-o", "ExitOnForwardFailure=yes", "-R", port+":"+target.Addr().String(), "-N",
		"ana@127.0.0.1"); code != 255 || !strings.Contains(errs, "remote port forwarding failed") {
		t.Errorf("-R: %q, exit %d", errs, code)
	}
	if _, errs, code := h.out("ana", "-W", target.Addr().String(), "ana@127.0.0.1"); code != 255 ||
		!strings.Contains(errs, "administratively prohibited") {
		t.Errorf("-W: %q, exit %d", errs, code)
	}
	for _, forward := range [][]string{{"-L", port + ":" + target.Addr().String()}, {"-D", port}} {
		c := h.ssh(context.Background(), "ana", append(forward, "ana@127.0.0.1", "cat")...)
		in, _ := c.StdinPipe()
		var errs lockedbuffer.Buffer
		c.Stderr = &errs
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		apitest.Soon(t, "the client listens", func() bool {
			nc, err := net.Dial("tcp", "127.0.0.1:"+port)
			if err == nil {
				if forward[0] == "-D" { // SOCKS5, no password, connect to 127.0.0.1:1
					_, _ = nc.Write([]byte{5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 1})
				}
				_ = nc.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
				_, _ = nc.Read(make([]byte, 16))
				_ = nc.Close()
			}
			return strings.Contains(errs.String(), "administratively prohibited")
		})
		_ = in.Close()
		_ = c.Wait()
	}
	// -A and -X are asked for and not given; the command runs all the same.
	for _, extra := range []string{"-A", "-X"} {
		c := h.ssh(context.Background(), "ana", extra, "ana@127.0.0.1", "who")
		c.Env = append(c.Env, "DISPLAY=:99", "SSH_AUTH_SOCK="+filepath.Join(h.dir, "none"))
		if b, _ := c.Output(); !strings.HasPrefix(string(b), "ana operator") {
			t.Errorf("%s: %q", extra, b)
		}
	}
	// -N: a connection that does nothing is closed.
	if _, _, code := h.out("ana", "-N", "ana@127.0.0.1"); code != 255 {
		t.Errorf("-N: exit %d", code)
	}
	for _, what := range []string{"direct-tcpip", "tcpip-forward", "subsystem"} {
		apitest.Soon(t, "the wish for "+what+" is recorded", func() bool {
			return len(h.trail.find("ssh.refused",
				"asked for "+what)) > 0
		})
	}
}

func TestOpenSSHConsole(t *testing.T) {
	needSSH(t)
	h := open(t, nil)
	s := h.acquire("ana", "ana@127.0.0.1")
	s.shows(t, "hello ana (operator)")
	s.shows(t, "80x24")
	_, _ = s.tty.WriteString("abc")
	s.shows(t, "abc")
	_ = pty.Setsize(s.tty, &pty.Winsize{Rows: 30, Cols: 100})
	s.shows(t, "100x30")
	for i := range 300 { // as fast as the client takes them
		_ = pty.Setsize(s.tty, &pty.Winsize{Rows: uint16(20 + i%10), Cols: uint16(70 + i%50)})
	}
	_ = pty.Setsize(s.tty, &pty.Winsize{Rows: 31, Cols: 123})
	s.shows(t, "123x31")
	_, _ = s.tty.WriteString("q")
	if err := s.Cmd.Wait(); err != nil {
		t.Errorf("leaving: %v", err)
	}
	s.shows(t, "\x1b[?1049l") // the terminal is restored
	apitest.Soon(t, "the end is recorded", func() bool { return len(h.trail.find("console.close", "left after")) == 1 })

	c := h.acquire("ana", "ana@127.0.0.1")
	c.shows(t, "hello")
	_ = c.Process.Kill() // kill -9 of the client
	apitest.Soon(t, "the session is over", func() bool { return h.sessions() == 0 })
}

func TestOpenSSHDumb(t *testing.T) {
	needSSH(t)
	h := open(t, nil)
	for _, term := range []string{"dumb", "", strings.Repeat("x", 10_000), "evil\x1b[2J"} {
		c := h.ssh(context.Background(), "ana", "-tt", "ana@127.0.0.1")
		c.Env = append(c.Env, "TERM="+term)
		b, err := c.CombinedOutput()
		if c.ProcessState.ExitCode() != 2 || !strings.Contains(string(b), "cannot show the console") ||
			strings.Contains(string(b), "\x1b") {
			t.Errorf("TERM=%.20q: %.200q, %v", term, b, err)
		}
	}
}

// A shared connection whose channel is closed: the program ends although the
// connection lives.
func TestOpenSSHControlMaster(t *testing.T) {
	needSSH(t)
	h := open(t, nil)
	socket := filepath.Join(h.dir, "m")
	// The view ticks, as the real one does: OpenSSH reports on the end of a shared
	// session when it is woken next.
	master := h.ssh(context.Background(), "ana", "-M", "-N", "-S", socket, "-o", "SendEnv=LC_TICK", "ana@127.0.0.1")
	if err := master.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = master.Process.Kill(); _ = master.Wait() }()
	apitest.Soon(t, "the shared connection is there", func() bool { _, err := os.Stat(socket); return err == nil })
	s := h.acquire("ana", "-S", socket, "-o", "SendEnv=LC_TICK", "ana@127.0.0.1")
	s.shows(t, "hello ana")
	if n := len(h.srv.authenticated()); n != 1 {
		t.Errorf("%d connections", n)
	}
	began := time.Now()
	_ = s.Process.Kill() // the channel is closed, the connection stays
	apitest.Soon(t, "the program has ended", func() bool { return h.sessions() == 0 })
	if took := time.Since(began); took > 8*time.Second { // a second, and what a busy machine adds
		t.Errorf("the program lived for %s", took)
	}
	if n := len(h.srv.authenticated()); n != 1 {
		t.Errorf("%d connections after the channel was closed", n)
	}
}

// A client that is stopped holds nothing: what it does not answer ends it, and
// others do not notice.
func TestOpenSSHStopped(t *testing.T) {
	needSSH(t)
	h := open(t, func(_ *fixture, o *Options) { o.Limits.KeepAlive = 150 * time.Millisecond })
	s := h.acquire("ana", "-o", "SendEnv=LC_TICK", "ana@127.0.0.1")
	s.shows(t, "hello ana")
	if err := s.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	other := h.console(h.login("bo"))
	other.shows(t, "hello bo")
	began := time.Now()
	other.key(t, "x")
	other.shows(t, "x]")
	if took := time.Since(began); took > 8*time.Second { // a few hundredths, and what a busy machine adds
		t.Errorf("another session waited %s", took)
	}
	apitest.Soon(t, "the stopped client is out", func() bool { return len(h.trail.find("console.close", "disconnected")) == 1 })
}

// Two hundred of the real client at once, each with a console of its own: nothing
// of them is left.
func TestOpenSSHCrowd(t *testing.T) {
	needSSH(t)
	const n = 200
	h, _ := crowd(t, 20, func(o *Options) { o.MaxSessions = 300 })
	all := make([]*sitting, n)
	var group sync.WaitGroup
	for of := range 4 {
		group.Go(func() {
			for i := of; i < n; i += 4 {
				who := fmt.Sprintf("p%d", i%20)
				all[i] = h.acquire(who, who+"@127.0.0.1")
				all[i].shows(t, "hello "+who)
			}
		})
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
	if on := len(h.srv.authenticated()); h.sessions() != n || on != n {
		t.Errorf("%d sessions on %d connections, want %d", h.sessions(), on, n)
	}
	_, _ = all[n-1].tty.WriteString("z")
	all[n-1].shows(t, "z]")
	for i, s := range all { // some leave, the others are killed
		if i%2 == 0 {
			_, _ = s.tty.WriteString("q")
		} else {
			_ = s.Process.Kill()
		}
	}
	apitest.Soon(t, "everybody is gone", func() bool {
		return h.sessions() == 0 && len(h.srv.authenticated()) == 0
	})
}
