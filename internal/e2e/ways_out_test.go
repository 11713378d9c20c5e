//go:build linux

package e2e

import (
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"opdeck/internal/sandbox"
)

// numbers are the account numbers of an operation.
func numbers(t *testing.T, w *world, opid string) []string {
	t.Helper()
	// The role of the command is the console's; the service itself is asked.
	var out []string
	raw := w.raw(opid)
	for _, m := range regexp.MustCompile(`"number":\s*"([^"]+)"`).FindAllStringSubmatch(raw, -1) {
		out = append(out, m[1])
	}
	if len(out) != 2 {
		t.Fatalf("the numbers of %s are %q", opid, out)
	}
	return out
}

// copied calls fn with every text that was copied.
func copied(t *testing.T, x *terminal, fn func(string)) {
	t.Helper()
	all := regexp.MustCompile(`\x1b\]52;c;([A-Za-z0-9+/=]*)`).FindAllSubmatch(x.output(), -1)
	if len(all) == 0 {
		t.Error("nothing was copied")
	}
	for _, m := range all {
		b, err := base64.StdEncoding.DecodeString(string(m[1]))
		if err != nil {
			t.Error(err)
		}
		fn(string(b))
	}
}

// TestSignals end the program and leave the terminal as it was.
func TestSignals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "")
	for name, end := range map[string]struct {
		do   func(*terminal)
		code int
	}{
		"TERM":   {func(x *terminal) { _ = x.cmd.Process.Signal(syscall.SIGTERM) }, 130},
		"HUP":    {func(x *terminal) { _ = x.cmd.Process.Signal(syscall.SIGHUP) }, 130},
		"INT":    {func(x *terminal) { _ = x.cmd.Process.Signal(syscall.SIGINT) }, 130},
		"ctrl+c": {func(x *terminal) { x.press(ctrlC) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := w.console(80, 24)
			x.t = t
			x.press("d").shows("1 of 3").press("x").armed()
			end.do(x)
			x.leaves(end.code)
		})
	}
}

// TestSuspend is ctrl+z and fg: the terminal is given back and taken again.
func TestSuspend(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "")
	sh := shell(t, w)
	sh.shows("60 operations")
	sh.press(ctrlZ)
	sh.until("the shell", func(string) bool { return bytes.Count(sh.output(), []byte("\x1b[?1049l")) == 1 })
	sh.press("echo back$((40+2))\r").shows("back42")
	sh.press("fg\r").until("the console again", func(string) bool { return bytes.Count(sh.output(), []byte("\x1b[?1049h")) == 2 }).shows("60 operations")
	sh.press("d").shows("1 of 3")
	sh.press(ctrlC).until("the end", func(string) bool { return bytes.Count(sh.output(), []byte("\x1b[?1049l")) == 2 })
	sh.press("echo over$((1+1)); exit\r").shows("over2")
	<-sh.ended
}

// shell starts the console as a job of bash.
func shell(t *testing.T, w *world) *terminal {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed: job control is not tried")
	}
	x := startProgram(t, bash, 80, 24, w.home, append(w.env, "PS1=$ "), "--norc", "--noprofile", "-i")
	x.cut = true // bash writes what it likes
	x.press(binary + "\r")
	return x
}

// TestResizes: 200 sizes in a row, from 1x1 to 300x100, and then all is as before.
func TestResizes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "")
	x := w.console(80, 24)
	dice := rand.New(rand.NewPCG(1, 2))
	x.press("d").shows("1 of 3")
	before := steady(x)
	for i := range 200 {
		width, height := 1+dice.IntN(300), 1+dice.IntN(100)
		if i == 0 {
			width, height = 1, 1
		}
		x.resize(width, height)
		time.Sleep(time.Duration(dice.IntN(8)) * time.Millisecond)
		if i%20 == 10 {
			x.press(down)
		}
	}
	x.resize(300, 100)
	x.shows("Documents")
	x.resize(1, 1)
	x.resize(80, 24)
	x.shows("of 3", "created", "? help") // a key that nobody could aim does nothing
	x.press(home).shows("1 of 3", "created", "? help")
	x.until("the frame from before", func(string) bool { return steady(x) == before })
	x.quit()
}

// steady is the screen without what runs by time.
func steady(x *terminal) string {
	lines := strings.Split(x.screen(), "\n")
	return strings.Join(lines[2:], "\n")
}

// TestKilledInTheMiddle: kill -9 during a replacement; the next start offers to
// continue, and that works.
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "")
	op := w.operations()[0]
	x := w.console(100, 30)
	x.press("d").shows("1 of 3")
	w.faults("late=upload:3s")
	x.press("R").shows("File on this host").types(w.file("amended.pdf")).press(enter, enter, enter).armed("with amended.pdf?").press("y")
	x.until("the upload at the service", func(string) bool { return w.stats().Calls["upload"] == 1 })
	if n := w.removals(); n != 1 {
		t.Errorf("%d documents were removed", n)
	}
	x.cut = true
	_ = x.cmd.Process.Kill()
	<-x.ended

	w.faults("")
	x = w.console(100, 30)
	x.shows("2 things need attention: a replacement is unfinished")
	x.press("o").types(op.Opid).press(enter).gone("Open an operation").shows(op.Opid).press("d").shows("is unfinished", "R resumes")
	x.press("R").shows("Resume", "Abandon").press(enter).armed("then go on?").press("y").shows("Replaced invoice.pdf.")
	if got := w.raw(op.Opid); !strings.Contains(got, "amended.pdf") || strings.Contains(got, `"invoice.pdf"`) {
		t.Errorf("the service has %s", got)
	}
	x.quit()
}

// TestFullDisk: a write whose intent cannot be stored is not sent, and the person gets an error.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("a small disk of its own needs root")
	}
	w := newWorld(t, sandbox.Options{}, "")
	state := t.TempDir()
	if err := unix.Mount("tmpfs", state, "tmpfs", 0, "size=4m,mode=700"); err != nil {
		t.Skipf("no tmpfs can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(state, unix.MNT_DETACH) })
	x := w.console(100, 30, "OPDECK_STATE="+state)
	x.press("d").shows("1 of 3").press("x").armed("Remove invoice.pdf")
	if err := exec.Command("dd", "if=/dev/zero", "of="+filepath.Join(state, "filler"), "bs=4096").Run(); err == nil {
		t.Fatal("the disk does not get full")
	}
	x.press("y").matches(`audit trail|cannot be written|cannot be stored|not sent|Nothing was sent`)
	if w.removals() != 0 {
		t.Error("it was removed without a record")
	}
	x.closes("nothing was sent")
	if err := os.Remove(filepath.Join(state, "filler")); err != nil {
		t.Fatal(err)
	}
	x.press("x").armed("Remove invoice.pdf").press("y").shows("Removed invoice.pdf")
	x.quit()
}

// TestNoStateFolder: what cannot be written is said before the console opens.
func TestNoStateFolder(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, state := range map[string]string{"under a file": filepath.Join(file, "state"), "a file": file, "nowhere to write": "/proc/opdeck"} {
		x := start(t, 80, 24, home, []string{"OPDECK_STATE=" + state})
		select {
		case <-x.ended:
		case <-time.After(patience):
			t.Fatalf("%s: it did not end", name)
		}
		x.shows("opdeck: ")
		if code := x.cmd.ProcessState.ExitCode(); code == 0 || code > 3 {
			t.Errorf("%s: exit code %d", name, code)
		}
		if strings.Contains(x.screen(), "goroutine") {
			t.Errorf("%s: %s", name, x.screen())
		}
		x.cut = true // plain lines
	}
}

// TestDumbTerminals: nothing that only a clever terminal understands.
func TestDumbTerminals(t *testing.T) {
	t.Parallel()
	for _, term := range []string{"dumb", "linux", "vt100", strings.Repeat("x", 10_000), "a\x1b]0;evil\ab"} {
		home := t.TempDir()
		x := start(t, 80, 24, home, []string{"TERM=" + term, "COLORTERM="}, "--still")
		x.shows("SANDBOX", "500 operations", "PENDING")
		x.quit()
	}
}

// TestManyKeys: a held key and a burst do each act once at most.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "")
	x := w.console(80, 24)
	x.press("d").shows("1 of 3")
	for range 3000 {
		_, _ = x.master.WriteString("x")
	}
	// Some came together and count as pasted, one of the others may have asked.
	x.matches(`Pasted text|\[ No \]`)
	time.Sleep(200 * time.Millisecond)
	for range 20 {
		if !strings.Contains(x.screen(), "[ No ]") {
			break
		}
		x.press("n")
		time.Sleep(150 * time.Millisecond)
	}
	x.gone("[ No ]")
	x.press(strings.Repeat("y", 500)).press("x").armed("Remove invoice.pdf")
	for range 200 {
		_, _ = x.master.WriteString("y")
		time.Sleep(time.Millisecond)
	}
	x.taken()
	for range 20 { // a machine that was busy read them together: pasted text
		if !strings.Contains(x.screen(), "[ No ]") {
			break
		}
		x.press("y")
		time.Sleep(150 * time.Millisecond)
	}
	x.shows("1 of 2")
	if n := w.removals(); n != 1 {
		t.Errorf("%d removals", n)
	}
	x.quit()
}
