//go:build unix

package paint

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"opdeck/ui/paint/painttest"
)

const roleVar = "PAINT_TEST_ROLE"

// TestMain makes the test binary the program under test, or the shell that
// starts it, when a test has started it so.
func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "program":
		program()
	case "shell":
		shell()
	default:
		os.Exit(m.Run())
	}
}

// program is a small program on a real terminal.
func program() {
	ctx, cancel := context.WithCancel(context.Background())
	m := &counter{onKey: func(_ *counter, k tea.KeyMsg) tea.Cmd {
		switch k.String() {
		case "p":
			panic("in Update")
		case "c":
			return func() tea.Msg { panic("in a command") }
		case "x":
			cancel()
		case "z":
			return tea.Suspend
		}
		return nil
	}}
	_, err := Run(ctx, m, Options{Signals: true, Mouse: true, Title: "opdeck"})
	fmt.Printf("ended: %v, TERM=%s, %d keys\n", err, os.Getenv("TERM"), m.keys)
	os.Exit(0)
}

// shell starts program as a job in the foreground and does what a shell does
// when it stops: takes the terminal, and gives it back after a line.
func shell() {
	// A caught signal is a default one for the job, an ignored one stays ignored.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTSTP)
	before, _ := term.GetState(0)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"=program")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	signal.Ignore(syscall.SIGTTOU) // not before: the job would inherit it
	pid := cmd.Process.Pid
	for {
		var st syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &st, syscall.WUNTRACED, nil); err == syscall.EINTR {
			continue
		}
		if !st.Stopped() {
			fmt.Println("shell: exited")
			os.Exit(0)
		}
		_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, syscall.Getpgrp())
		now, _ := term.GetState(0)
		fmt.Printf("shell: stopped, terminal as before: %v\n", reflect.DeepEqual(before, now))
		line := make([]byte, 64)
		n, _ := os.Stdin.Read(line)
		_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, pid)
		if strings.HasPrefix(string(line[:n]), "kill") {
			_ = syscall.Kill(-pid, syscall.SIGTERM)
		}
		_ = syscall.Kill(-pid, syscall.SIGCONT)
	}
}

// console is a program on a pty.
type console struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	tty    *os.File
	out    *record
	before *term.State
	exited chan error
}

func startConsole(t *testing.T, role string) *console {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	master = pollable(t, master)
	if err := pty.Setsize(tty, &pty.Winsize{Cols: 40, Rows: 6}); err != nil {
		t.Fatal(err)
	}
	c := &console{t: t, master: master, tty: tty, out: newRecord(), exited: make(chan error, 1)}
	c.before, err = term.GetState(int(tty.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	c.cmd = exec.Command(os.Args[0])
	c.cmd.Env = append(os.Environ(), roleVar+"="+role, "TERM=xterm-256color")
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = tty, tty, tty
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(c.out, master) }()
	go func() { c.exited <- c.cmd.Wait() }()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = tty.Close()
		_ = master.Close()
	})
	return c
}

// pollable makes a file whose Close ends a Read.
func pollable(t *testing.T, f *os.File) *os.File {
	t.Helper()
	fd, err := unix.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "ptmx")
}

func (c *console) keys(s string) {
	if _, err := io.WriteString(c.master, s); err != nil {
		c.t.Error(err)
	}
}

// end waits for the process and for its last words.
func (c *console) end() {
	c.t.Helper()
	select {
	case err := <-c.exited:
		if err != nil {
			c.t.Error(err)
		}
	case <-time.After(patience):
		c.t.Fatalf("the program does not end: %q", c.out)
	}
	c.out.until(c.t, "ended: ") // what it wrote last may still be on its way
}

var modeRE = regexp.MustCompile(`\x1b\[\?(\d+)([hl])`)

// wantModes checks that every mode is as a terminal has it at the start, that the
// alternate screen was left as often as it was entered, that termios are as they
// were, and that nothing is drawn after leaving.
func (c *console) wantModes(entered int) {
	c.t.Helper()
	out := c.out.String()
	last, count := map[string]string{}, map[string]int{}
	for _, m := range modeRE.FindAllStringSubmatch(out, -1) {
		last[m[1]] = m[2]
		count[m[1]+m[2]]++
	}
	for mode, end := range last {
		want := "l"
		if mode == "7" || mode == "25" { // lines wrap, the cursor is seen
			want = "h"
		}
		if end != want {
			c.t.Errorf("mode %s is left as %s", mode, end)
		}
	}
	for _, mode := range []string{"7", "25", "1002", "1006", "1049", "2004", "2026"} {
		if last[mode] == "" {
			c.t.Errorf("mode %s is not set back", mode)
		}
	}
	// What others left set is taken back each time, in the alternate screen, and before the mouse is switched on.
	if parts := strings.Split(out, "\x1b[?1049h"); len(parts) == entered+1 {
		for _, part := range parts[1:] {
			if rest, ok := strings.CutPrefix(part, reset); !ok || !strings.Contains(rest, "\x1b[?2004h\x1b[?1002h\x1b[?1006h") {
				c.t.Errorf("entered with %.300q", part)
			}
		}
	}
	if count["1049h"] != entered || count["1049l"] != entered {
		c.t.Errorf("entered %d and left %d times, want %d", count["1049h"], count["1049l"], entered)
	}
	if strings.Count(out, "\x1b[22;2t") != strings.Count(out, "\x1b[23;2t") {
		c.t.Error("the title is not given back")
	}
	_, tail, _ := strings.Cut(out[strings.LastIndex(out, "\x1b[?1049h")+1:], "\x1b[?1049l")
	if strings.Count(tail, "\x1b") != 1 { // the title
		c.t.Errorf("behind the end: %q", tail)
	}
	// Every byte since the start of the process: nothing asks the terminal anything.
	if err := (painttest.Checker{Title: "opdeck"}).Check([]byte(out)); err != nil {
		c.t.Error(err)
	}
	after, err := term.GetState(int(c.tty.Fd()))
	if err != nil || !reflect.DeepEqual(c.before, after) {
		c.t.Errorf("termios are not as they were: %v", err)
	}
}

func TestTerminalIsRestored(t *testing.T) {
	for name, c := range map[string]struct {
		keys  string
		sig   os.Signal
		ended string
	}{
		"quit":             {keys: "q", ended: "<nil>"},
		"panic in Update":  {keys: "p", ended: new(PanicError).Error()},
		"panic in command": {keys: "c", ended: new(PanicError).Error()},
		"context":          {keys: "x", ended: "context canceled"},
		"SIGTERM":          {sig: syscall.SIGTERM, ended: "ended by a signal: terminated"},
		"SIGHUP":           {sig: syscall.SIGHUP, ended: "ended by a signal: hangup"},
		"SIGINT":           {sig: syscall.SIGINT, ended: "ended by a signal: interrupt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startConsole(t, "program")
			p.out.until(t, "0 keys")
			if raw, _ := term.GetState(int(p.tty.Fd())); reflect.DeepEqual(raw, p.before) {
				t.Error("the terminal is not in raw mode")
			}
			if c.sig != nil {
				_ = p.cmd.Process.Signal(c.sig)
			} else {
				p.keys(c.keys)
			}
			p.end()
			p.out.until(t, "ended: "+c.ended+", TERM=xterm-256color")
			p.wantModes(1)
			if strings.Contains(c.ended, "fault") && !strings.Contains(p.out.String(), strings.TrimSpace(panicMessage)) {
				t.Errorf("no message: %q", p.out)
			}
		})
	}
}

// ctrl+z, tea.Suspend and SIGTSTP give the terminal back, stop the process, and
// take the terminal again when it is continued.
func TestSuspendAndContinue(t *testing.T) {
	for name, suspend := range map[string]func(c *console){
		"ctrl+z":      func(c *console) { c.keys("\x1a") },
		"tea.Suspend": func(c *console) { c.keys("z") },
		"SIGTSTP":     func(c *console) { c.signalJob(syscall.SIGTSTP) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startConsole(t, "shell")
			c.out.until(t, "0 keys")
			suspend(c)
			c.out.until(t, "shell: stopped, terminal as before: true")
			shown := strings.Count(c.out.String(), "keys")
			if !strings.HasSuffix(strings.SplitN(c.out.String(), "shell:", 2)[0], "\x1b[?1049l\x1b[23;2t") {
				t.Errorf("not left before the stop: %q", c.out)
			}
			_ = pty.Setsize(c.tty, &pty.Winsize{Cols: 50, Rows: 4})
			c.keys("fg\n")
			c.out.times(t, "keys", shown+1)
			c.keys("q")
			c.end()
			c.out.until(t, "ended: <nil>")
			c.wantModes(2)
		})
	}
}

// A stopped job that is killed ends without touching the terminal again.
func TestKilledWhileSuspended(t *testing.T) {
	c := startConsole(t, "shell")
	c.out.until(t, "0 keys")
	c.keys("\x1a")
	c.out.until(t, "shell: stopped")
	c.keys("kill\n")
	c.end()
	c.out.until(t, "ended: ended by a signal: terminated")
	c.wantModes(1)
}

// A stop that cannot be caught: the program sets everything up once more.
func TestContinuedAfterSIGSTOP(t *testing.T) {
	c := startConsole(t, "program")
	c.out.until(t, "0 keys")
	_ = c.cmd.Process.Signal(syscall.SIGSTOP)
	_ = term.Restore(int(c.tty.Fd()), c.before) // as a shell does
	_ = c.cmd.Process.Signal(syscall.SIGCONT)
	c.out.times(t, "0 keys", 2)
	if raw, _ := term.GetState(int(c.tty.Fd())); reflect.DeepEqual(raw, c.before) {
		t.Error("not in raw mode again")
	}
	c.keys("q")
	c.end()
	c.out.until(t, "ended: <nil>")
	if got := bytes.Count([]byte(c.out.String()), []byte("\x1b[?1049l")); got != 1 {
		t.Errorf("left %d times", got)
	}
}

// The terminal goes away: the program ends.
func TestHangup(t *testing.T) {
	c := startConsole(t, "program")
	c.out.until(t, "0 keys")
	_ = c.tty.Close()
	_ = c.master.Close()
	select {
	case <-c.exited:
	case <-time.After(patience):
		t.Fatal("the program outlives its terminal")
	}
}

// A change of the window's size reaches the program and everything is redrawn.
func TestWindowSize(t *testing.T) {
	c := startConsole(t, "program")
	c.out.until(t, "0 keys")
	for i := range 30 {
		_ = pty.Setsize(c.tty, &pty.Winsize{Cols: uint16(1 + i), Rows: uint16(1 + i%7)})
	}
	c.out.times(t, "\x1b[2J", 2)
	c.keys("q")
	c.end()
	c.wantModes(1)
}

// signalJob signals the process group in the foreground.
func (c *console) signalJob(sig syscall.Signal) { _ = syscall.Kill(-c.foreground(), sig) }

// foreground is the process group in the foreground.
func (c *console) foreground() int {
	c.t.Helper()
	conn, err := c.master.SyscallConn()
	if err != nil {
		c.t.Fatal(err)
	}
	pgrp := 0
	_ = conn.Control(func(fd uintptr) { pgrp, err = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP) })
	if err != nil || pgrp <= 1 {
		c.t.Fatal(pgrp, err)
	}
	return pgrp
}
