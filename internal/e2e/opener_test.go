//go:build linux

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"opdeck/internal/sandbox"
)

// opens is a console on a desktop whose opener is a script of the test. The script gets the
// folder of the test as HOME.
type opens struct {
	*terminal
	w *world
}

func opening(t *testing.T, body string, env ...string) opens {
	t.Helper()
	home := t.TempDir()
	w := newWorld(t, sandbox.Options{}, "")
	w.home = home
	if err := os.WriteFile(filepath.Join(home, "xdg-open"), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	env = append([]string{"DISPLAY=:7", "SSH_CONNECTION=", "SSH_TTY=", "PATH=" + home + ":" + os.Getenv("PATH")}, env...)
	return opens{w.console(80, 24, env...), w}
}

// copies are the copies of documents that are on disk.
func (o opens) copies() []string {
	o.t.Helper()
	found, _ := filepath.Glob(filepath.Join(o.w.home, ".local/state/opdeck", "*opdeck-*", "[^.]*"))
	return found
}

// TestOpenDocument: after a yes the desktop's program gets a copy that only this user may read,
// no terminal and no secrets; the console continues, and removes the copy when it ends. The trail
// has it as saving has.
func TestOpenDocument(t *testing.T) {
	t.Parallel()
	o := opening(t, `{ cat "$1" >"$HOME/copy"; stat -c %a "$1" "$(dirname "$1")"; echo "$DISPLAY,$PW,$#"; tty; } >"$HOME/reported"; exit 0`)
	o.press("d").shows("1 of 3").press("O").armed("Open a copy of invoice.pdf?", "Only you can read it")
	o.press("n").shows("No copy was made")
	if files := o.copies(); files != nil {
		t.Errorf("on disk without a yes: %q", files)
	}
	o.press("O").armed("Open a copy of invoice.pdf?").press("y").shows("Opened a copy")
	if files := o.copies(); len(files) != 1 || filepath.Base(files[0]) != "invoice.pdf" {
		t.Errorf("on disk: %q", files)
	}
	reported, err := os.ReadFile(filepath.Join(o.w.home, "reported"))
	if err != nil || string(reported) != "600\n700\n:7,,1\nnot a tty\n" {
		t.Errorf("the program saw %q, %v", reported, err)
	}
	if b, _ := os.ReadFile(filepath.Join(o.w.home, "copy")); !bytes.HasPrefix(b, []byte("%PDF")) {
		t.Errorf("the program got %.20q", b)
	}
	o.quit()
	if files := o.copies(); files != nil {
		t.Errorf("on disk afterwards: %q", files)
	}
	if n := strings.Count(o.w.command("audit", "list", "-o", "json"), `"document.download"`); n != 1 {
		t.Errorf("%d records of it", n)
	}
}

// TestOpenFails: an opener that fails is reported and leaves no copy; without a desktop, and inside an SSH login, the
// key says why.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	o := opening(t, "exit 3")
	o.press("d").shows("1 of 3").press("O").armed("Open a copy").press("y").shows("xdg-open could not open it", "Save the document instead")
	if files := o.copies(); files != nil {
		t.Errorf("on disk: %q", files)
	}
	o.quit()
	for env, why := range map[string]string{"DISPLAY=": "There is no desktop here", "SSH_CONNECTION=192.0.2.1 1 192.0.2.2 22": "This is an SSH login"} {
		o = opening(t, "exit 0", env, "WAYLAND_DISPLAY=")
		o.press("d").shows("1 of 3").press("O").shows(why).press(enter).shows("It cannot be opened from here.", "w saves it")
		o.quit()
	}
}

// TestCopyOfAKilledConsole: the next console removes it.
func TestCopyOfAKilledConsole(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		o := opening(t, "exit 0")
		o.press("d").shows("1 of 3").press("O").armed("Open a copy").press("y").shows("Opened a copy")
		_ = o.cmd.Process.Signal(sig)
		<-o.ended
		if files := o.copies(); sig == syscall.SIGTERM {
			if files != nil {
				t.Errorf("on disk after SIGTERM: %q", files)
			}
			continue
		} else if len(files) != 1 {
			t.Fatalf("on disk after SIGKILL: %q", files)
		}
		next := o.w.console(80, 24)
		for end := time.Now().Add(patience); o.copies() != nil; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("still on disk: %q", o.copies())
			}
		}
		next.quit()
	}
}
