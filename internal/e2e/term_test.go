//go:build linux

package e2e

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"opdeck/ui/paint/painttest"
)

// binary is the program, built once for all tests; $OPDECK_TEST_PROGRAM is one that
// was built before.
var binary = os.Getenv("OPDECK_TEST_PROGRAM")

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if file := os.Getenv(lockerVariable); file != "" {
			return locks(file)
		}
		flag.Parse()
		if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
			_ = flag.Set("test.parallel", "6") // journeys mostly wait for a screen or for time to pass
		}
		if binary != "" {
			return m.Run()
		}
		dir, err := os.MkdirTemp("", "opdeck-e2e")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "opdeck")
		if out, err := exec.Command("go", "build", "-o", binary, "opdeck").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// terminal is the program in a pseudo-terminal with an emulator behind it.
type terminal struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	slave  *os.File // kept open to read the terminal's settings at the end
	before unix.Termios
	ended  chan struct{}
	err    error // of Wait; valid after ended

	mu  sync.Mutex
	emu *vt.Emulator // guarded by mu
	raw []byte       // guarded by mu; everything the program wrote
	cut bool         // killed: the output may end anywhere

	pressed int // keys; a pasted text is one
}

// start runs the program at a size. home is both HOME and where nothing else is.
func start(t *testing.T, w, h int, home string, env []string, args ...string) *terminal {
	t.Helper()
	return startProgram(t, binary, w, h, home, env, args...)
}

func startProgram(t *testing.T, program string, w, h int, home string, env []string, args ...string) *terminal {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, master: master, slave: slave, ended: make(chan struct{}), emu: vt.NewEmulator(w, h)}
	x.emu.SetScrollbackSize(1)
	if err := pty.Setsize(master, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}); err != nil {
		t.Fatal(err)
	}
	x.before = x.termios()
	x.cmd = exec.Command(program, args...)
	x.cmd.Dir = home
	x.cmd.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8", "TZ=UTC", "PW=sandbox"}, env...)
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = slave, slave, slave
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() { defer close(read); x.read() }()
	go func() { x.err = x.cmd.Wait(); close(x.ended) }()
	t.Cleanup(func() {
		x.stop()
		_ = slave.Close()
		_ = master.Close()
		<-read
		x.mu.Lock()
		defer x.mu.Unlock()
		if err := (painttest.Checker{Title: "opdeck", Copy: true}).Check(x.raw); err != nil && !x.cut {
			t.Errorf("what the program wrote: %v", err)
		}
	})
	return x
}

func (x *terminal) read() {
	// Answers of the emulator; the program asks nothing. It ends with the tests:
	// closing the emulator would race with its own Read.
	go func() { _, _ = io.Copy(io.Discard, x.emu) }()
	buf := make([]byte, 64<<10)
	for {
		n, err := x.master.Read(buf)
		x.mu.Lock()
		x.raw = append(x.raw, buf[:n]...)
		_, _ = x.emu.Write(buf[:n])
		x.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// stop ends the program if it still runs.
func (x *terminal) stop() {
	select {
	case <-x.ended:
		return
	default:
	}
	_ = x.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-x.ended:
	case <-time.After(patience):
		x.cut = true
		_ = x.cmd.Process.Kill()
		<-x.ended
		x.t.Error("SIGTERM did not end the program in 15 s")
	}
}

func (x *terminal) termios() unix.Termios {
	x.t.Helper()
	v, err := unix.IoctlGetTermios(int(x.slave.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	return *v
}

// screen is what is shown, rows without trailing blanks.
func (x *terminal) screen() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.emu.String()
}

// written is how many bytes the program has written.
func (x *terminal) written() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.raw)
}

func (x *terminal) output() []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	return bytes.Clone(x.raw)
}

const patience = time.Minute

// until waits until ok holds of the screen.
func (x *terminal) until(what string, ok func(screen string) bool) *terminal {
	x.t.Helper()
	end, gone := time.Now().Add(patience), false
	s, drawn, asked := "", -1, time.Time{}
	for {
		// Drawing takes most of a test's time: only what is new, and now and then for
		// what changes by time.
		if n := x.written(); n != drawn || time.Since(asked) > 100*time.Millisecond {
			s, drawn, asked = x.screen(), n, time.Now()
			if ok(painttest.Content(s)) {
				return x
			}
		}
		select {
		case <-x.ended:
			if !gone { // what it wrote last is still on its way
				gone, end = true, time.Now().Add(time.Second)
			}
		default:
		}
		if time.Now().After(end) {
			x.t.Fatalf("%s never showed (program ended: %v); the screen is\n%s", what, gone, s)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// shows waits until all texts are on the screen.
func (x *terminal) shows(texts ...string) *terminal {
	x.t.Helper()
	return x.until(fmt.Sprintf("%q", texts), func(s string) bool {
		for _, t := range texts {
			if !strings.Contains(s, t) {
				return false
			}
		}
		return true
	})
}

// matches waits for a regular expression.
func (x *terminal) matches(re string) *terminal {
	x.t.Helper()
	r := regexp.MustCompile(re)
	return x.until(re, r.MatchString)
}

// wrote waits until n matches are in what the program wrote, and returns the last.
func (x *terminal) wrote(re string, n int) [][]byte {
	x.t.Helper()
	r := regexp.MustCompile(re)
	var found [][][]byte
	x.until(fmt.Sprintf("%d of %s in the output", n, re), func(string) bool {
		found = r.FindAllSubmatch(x.output(), -1)
		return len(found) >= n
	})
	return found[len(found)-1]
}

// gone waits until a text is not on the screen.
func (x *terminal) gone(text string) *terminal {
	x.t.Helper()
	return x.until("a screen without "+text, func(s string) bool { return !strings.Contains(s, text) })
}

// Keys that are more than a character.
const (
	enter, esc, tab, ctrlC, ctrlZ = "\r", "\x1b", "\t", "\x03", "\x1a"
	down, up, pgdown, home, end   = "\x1b[B", "\x1b[A", "\x1b[6~", "\x1b[H", "\x1b[F"
	right                         = "\x1b[C"
)

// press writes keys one after the other, as a keyboard does. Each waits until the
// one before was read: characters that are read together are pressed one after the
// other, but an open question takes them for pasted text.
func (x *terminal) press(keys ...string) *terminal {
	x.t.Helper()
	for _, k := range keys {
		if _, err := x.master.WriteString(k); err != nil {
			x.t.Fatal(err)
		}
		x.pressed++
		if !strings.HasPrefix(k, esc) {
			x.pressed += utf8.RuneCountInString(k) - 1
		}
		x.taken()
	}
	return x
}

// taken waits until the program has read what was typed: then the next key comes
// by itself.
func (x *terminal) taken() {
	time.Sleep(10 * time.Millisecond) // the kernel hands it over by and by
	for range 2000 {
		if n, err := unix.IoctlGetInt(int(x.slave.Fd()), unix.TIOCINQ); err != nil || n == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// types writes a text into a field; all at once, as a slow line delivers it.
func (x *terminal) types(s string) *terminal {
	x.t.Helper()
	x.drawn(s)
	return x
}

// pastes writes a text like a terminal with bracketed paste.
func (x *terminal) pastes(s string) *terminal {
	x.t.Helper()
	return x.press("\x1b[200~" + s + "\x1b[201~")
}

// escape presses esc and waits, so that it is not the start of a sequence: until the program takes it for a key of its
// own, and then until it has drawn.
func (x *terminal) escape() *terminal {
	x.t.Helper()
	x.press(esc)
	time.Sleep(200 * time.Millisecond) // more than the time within which a sequence may go on
	for last, n := 0, 0; n < 20; n++ {
		if now := len(x.output()); now == last {
			break
		} else {
			last = now
		}
		time.Sleep(50 * time.Millisecond)
	}
	return x
}

// drawn presses keys and waits until something is drawn, but not for long: keys may change nothing.
func (x *terminal) drawn(keys string) {
	x.t.Helper()
	before := len(x.output())
	x.press(keys)
	for end := time.Now().Add(2 * time.Second); len(x.output()) == before && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
}

// closes presses esc until a text is gone: what opens by itself takes no keys at first.
func (x *terminal) closes(text string) *terminal {
	x.t.Helper()
	for range 20 {
		x.escape()
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if !strings.Contains(painttest.Content(x.screen()), text) {
				return x
			}
		}
	}
	x.t.Fatalf("esc does not close %q:\n%s", text, x.screen())
	return x
}

// armed waits until the open question takes keys.
func (x *terminal) armed(texts ...string) *terminal {
	x.t.Helper()
	return x.shows(append(texts, "[ No ]")...).gone("keys are ignored for a moment")
}

// confirms presses enter behind typed characters until a text shows: right behind
// them enter counts as pasted and is ignored, and how soon that is depends on how
// busy the machine is.
func (x *terminal) confirms(text string) *terminal {
	x.t.Helper()
	return x.insists(enter, text)
}

// insists presses a key until a text shows: what opens by itself takes no keys at
// first. A person presses it once, and so it is counted.
func (x *terminal) insists(key, text string) *terminal {
	x.t.Helper()
	defer func(n int) { x.pressed = n + 1 }(x.pressed)
	for range 20 {
		time.Sleep(200 * time.Millisecond)
		x.press(key)
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if strings.Contains(painttest.Content(x.screen()), text) {
				return x
			}
		}
	}
	return x.shows(text)
}

func (x *terminal) resize(w, h int) {
	x.t.Helper()
	x.mu.Lock()
	x.emu.Resize(w, h)
	x.mu.Unlock()
	if err := pty.Setsize(x.master, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}); err != nil {
		x.t.Fatal(err)
	}
}

// leaves waits for the end and looks at what is left: exit code, the terminal's
// settings and modes.
func (x *terminal) leaves(code int) {
	x.t.Helper()
	select {
	case <-x.ended:
	case <-time.After(patience):
		x.t.Fatalf("the program did not end; the screen is\n%s", x.screen())
	}
	if got := x.cmd.ProcessState.ExitCode(); got != code {
		x.t.Errorf("exit code %d, want %d\n%s", got, code, x.screen())
	}
	x.restored()
}

// restored checks that the terminal is as it was.
func (x *terminal) restored() {
	x.t.Helper()
	x.until("the end of the output", func(string) bool { return bytes.Contains(x.output(), []byte("\x1b[?1049l")) })
	if after := x.termios(); after != x.before {
		x.t.Errorf("the terminal's settings changed:\n%+v\n%+v", x.before, after)
	}
	raw := string(x.output())
	for mode, final := range map[string]string{"?1049": "l", "?25": "h", "?7": "h", "?2004": "l", "?2026": "l"} {
		on, off := strings.LastIndex(raw, "\x1b["+mode+"h"), strings.LastIndex(raw, "\x1b["+mode+"l")
		if (on > off) != (final == "h") {
			x.t.Errorf("mode %s was left wrong", mode)
		}
	}
}

// quit leaves from the list by its question.
func (x *terminal) quit() {
	x.t.Helper()
	x.press(ctrlC)
	x.leaves(0)
}
