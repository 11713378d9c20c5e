//go:build unix

package paint

import (
	"fmt"
	"os/exec"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	tea "github.com/charmbracelet/bubbletea"
)

// childVar holds what the program that gets the terminal does.
const childVar = "PAINT_TEST_CHILD"

// lendingTo starts a console in a role whose key l hands the terminal to a shell script.
func lendingTo(t *testing.T, role, script string) *console {
	t.Helper()
	t.Setenv(childVar, script)
	c := startConsole(t, role)
	c.out.until(t, "0 keys")
	return c
}

// wantState waits until the terminal's settings are, or are not, those of before.
func (c *console) wantState(before bool) {
	c.t.Helper()
	for end := time.Now().Add(patience); ; {
		now, err := term.GetState(int(c.tty.Fd()))
		if err == nil && reflect.DeepEqual(now, c.before) == before {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("termios as before: %v, want %v", !before, before)
		}
	}
}

func TestLend(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		key    string // that starts it; empty: l
		do     func(c *console)
		told   string
	}{
		"quits":         {script: "echo child is up; read x; echo child got $x", do: func(c *console) { c.keys("lq\n"); c.out.until(c.t, "child got lq") }, told: "<nil>"},
		"fails":         {script: "echo child is up; exit 3", told: "ended with code 3"},
		"is killed":     {script: "printf '\\033[?1049h\\033[?1h'; stty raw -echo; echo child is up; kill -9 $$", told: "was ended by a signal: killed"},
		"leaves raw":    {script: "stty raw -echo -opost; printf '\\033[?1049h\\033[?1003hchild is up'", told: "<nil>"},
		"ctrl+c":        {script: "echo child is up; exec sleep 1000", do: func(c *console) { c.keys("\x03") }, told: "was ended by a signal: interrupt"},
		"ctrl+\\":       {script: "echo child is up; exec sleep 1000", do: func(c *console) { c.keys("\x1c") }, told: "was ended by a signal: quit"},
		"ctrl+z":        {script: "echo child is up; exec sleep 1000", do: func(c *console) { c.keys("\x1a"); c.keys("\x03") }, told: "was ended by a signal: interrupt"},
		"is not there":  {key: "n", told: "fork/exec /nowhere/to"},
		"own job group": {script: "echo child is up; set -m; sh -c 'exit 4'", told: "ended with code 4"},
	} {
		t.Run(name, func(t *testing.T) {
			p := lendingTo(t, "program", c.script)
			if c.key != "" {
				p.keys(c.key)
			} else {
				p.keys("l")
				p.out.until(t, "child is up")
			}
			if c.do != nil {
				p.wantState(true)
				c.do(p)
			}
			shown := "1 keys, returned: " + c.told
			p.out.until(t, strings.TrimPrefix(shown[:min(len(shown), 40)], "1 keys")) // the window is 40 wide
			p.wantState(false)
			p.keys("a") // one key and no more: none was lost, none of the program came here
			p.out.until(t, "\x1b[H2")
			p.keys("q")
			p.end()
			p.out.until(t, "ended: <nil>, TERM=xterm-256color, 3 keys")
			p.wantEnd()
		})
	}
}

// wantEnd checks modes and settings where something else has written too.
func (c *console) wantEnd() {
	c.t.Helper()
	last := map[string]string{}
	for _, m := range modeRE.FindAllStringSubmatch(c.out.String(), -1) {
		last[m[1]] = m[2]
	}
	for mode, want := range map[string]string{"1049": "l", "7": "h", "25": "h", "2004": "l", "1002": "l", "1006": "l"} {
		if last[mode] != want {
			c.t.Errorf("mode %s is %s at the end", mode, last[mode])
		}
	}
	for mode, is := range last {
		if is == "h" && mode != "7" && mode != "25" {
			c.t.Errorf("mode %s is left on", mode)
		}
	}
	c.wantState(true)
}

// What is written while another program has the terminal is that program's alone, and
// the screen is drawn whole for the size that the window has then.
func TestLendDrawsNothing(t *testing.T) {
	c := lendingTo(t, "program", "echo child is up; read x; echo child ends")
	c.keys("l")
	c.out.until(t, "child is up")
	if err := pty.Setsize(c.tty, &pty.Winsize{Cols: 50, Rows: 4}); err != nil {
		t.Fatal(err)
	}
	c.keys("\n")
	c.out.until(t, ", returned: ")
	_, mine, _ := strings.Cut(c.out.String(), "\x1b[23;2t")
	mine, after, ok := strings.Cut(mine, "\x1b[22;2t")
	if strings.ReplaceAll(mine, "\r", "") != "child is up\n\nchild ends\n" {
		t.Errorf("written while it was lent: %q", mine)
	}
	if !ok || !strings.Contains(after, reset0) || !strings.Contains(after, "\x1b[2J") {
		t.Errorf("not drawn whole: %q", after)
	}
	c.keys("q")
	c.end()
	c.wantEnd()
}

var reset0 = string(reset(nil))

// A console that is ended meanwhile ends the program, also one that is deaf to it, and
// leaves the terminal as it was.
func TestKilledWhileLent(t *testing.T) {
	for name, script := range map[string]string{
		"hears": "printf '\\033[?1049h'; stty raw -echo; echo child is up; exec sleep 1000",
		"deaf":  "trap '' TERM HUP INT; printf '\\033[?1049h\\033[?1000h'; stty raw -echo; echo child is up; while :; do sleep 0.1; done",
	} {
		t.Run(name, func(t *testing.T) {
			c := lendingTo(t, "program", script)
			c.keys("l")
			c.out.until(t, "child is up")
			_ = c.cmd.Process.Signal(syscall.SIGTERM)
			c.end()
			c.out.until(t, "ended: ended by a signal: terminated")
			c.wantState(true)
			if tail := c.out.String(); !strings.Contains(tail[strings.LastIndex(tail, "child is up"):], "\x1b[?1047l") {
				t.Errorf("the other screen is not left: %q", tail)
			}
		})
	}
}

// Under a shell ctrl+z in the program stops both; the shell's fg continues both, and the
// console can be suspended by itself afterwards.
func TestStoppedWhileLent(t *testing.T) {
	c := lendingTo(t, "shell", "echo child is up; exec sleep 1000")
	c.keys("l")
	c.out.until(t, "child is up")
	child := c.foreground()
	c.keys("\x1a")
	c.out.until(t, "shell: stopped")
	c.keys("fg\n")
	for end := time.Now().Add(patience); c.foreground() != child; {
		if time.Now().After(end) {
			t.Fatal("the program does not get the terminal back")
		}
	}
	c.keys("\x03") // ends the script, and is no key of the console
	c.out.until(t, ", returned: ")
	c.keys("\x1a")
	c.out.times(t, "shell: stopped, terminal as before: true", 2)
	c.keys("fg\n")
	c.keys("q")
	c.end()
	c.out.until(t, "ended: <nil>")
	c.wantEnd()
}

// Without signals, or without a terminal, nothing is handed over.
func TestNotLent(t *testing.T) {
	told := make(chan error, 1)
	m := &counter{onKey: func(*counter, tea.KeyMsg) tea.Cmd {
		return Lend(exec.Command("true"), func(err error) tea.Msg { told <- err; return nil })
	}}
	keys, _, done := start(t, t.Context(), m, Options{})
	_, _ = fmt.Fprint(keys, "l")
	if err := <-told; err != ErrNotLent {
		t.Error(err)
	}
	_, _ = fmt.Fprint(keys, "q")
	<-done
}
