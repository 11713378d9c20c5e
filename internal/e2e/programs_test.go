//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"opdeck/internal/sandbox"
)

// lends is a console that hands its terminal to scripts of the test. A script gets the
// folder of the test as HOME.
type lends struct {
	*terminal
	w   *world
	run string // the runtime folder
}

// script writes a program.
func (w *world) script(name, body string) string {
	w.t.Helper()
	path := filepath.Join(w.home, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// lending opens a console with a script as pager, editor and viewer.
func lending(t *testing.T, body string) lends {
	t.Helper()
	home := t.TempDir()
	w := newWorld(t, sandbox.Options{}, fmt.Sprintf("[ui]\nviewer = [%q, \"--file={file}\", \"$HOME;id\"]\n", filepath.Join(home, "other")))
	w.home, w.env = home, append(w.env, "XDG_RUNTIME_DIR="+filepath.Join(home, "run"))
	path := w.script("other", body)
	l := lends{w: w, run: filepath.Join(home, "run")}
	if err := os.Mkdir(l.run, 0o700); err != nil {
		t.Fatal(err)
	}
	l.terminal = w.console(80, 24, "PAGER="+path+" --flag", "EDITOR="+path)
	l.cut = true // the other program writes what it likes
	return l
}

// whole checks that the screen is the console's, drawn whole, in raw mode, and that the
// console works.
func (l lends) whole(hint string) {
	l.t.Helper()
	l.shows(hint, "Operations").until("nothing of the other program", func(s string) bool {
		return !strings.Contains(s, "OTHER") && strings.Contains(strings.Split(s, "\n")[0], "access ")
	})
	if l.termios() == l.before {
		l.t.Error("the terminal is not in raw mode again")
	}
}

// handed are the files that other programs have now.
func (l lends) handed() []string {
	l.t.Helper()
	for _, dir := range []string{l.run, filepath.Join(l.w.home, ".local/state/opdeck")} {
		if found, _ := filepath.Glob(filepath.Join(dir, "*opdeck-*", "[^.]*")); len(found) > 0 {
			return found
		}
	}
	return nil
}

// TestPager: the pager gets what is shown, masked and safe, and every key; nothing is on
// disk; the settings of the terminal are those of before, and then the console's again.
func TestPager(t *testing.T) {
	t.Parallel()
	l := lending(t, `cat >"$HOME/got"; echo "OTHER $LESSSECURE,$PW,$# $1"; read k </dev/tty; echo "OTHER key $k"; read k </dev/tty`)
	l.press("J").shows("e editor").press("p").shows("OTHER 1,,1 --flag")
	if l.termios() != l.before {
		t.Error("the terminal's settings are not those of before")
	}
	l.press("xqy\x0c\r").matches(`OTHER key xqy`)
	l.press(enter)
	l.whole("p pager")
	got, err := os.ReadFile(filepath.Join(l.w.home, "got"))
	if err != nil {
		t.Fatal(err)
	}
	if i := bytes.IndexFunc(got, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }); i >= 0 {
		t.Errorf("a control character at %d", i)
	}
	if !bytes.Contains(got, []byte(`"opid"`)) || !bytes.Contains(got, []byte("••••")) {
		t.Errorf("the pager got %s", got)
	}
	for _, n := range numbers(t, l.w, string(l.w.operations()[0].Opid)) {
		if bytes.Contains(got, []byte(n)) {
			t.Errorf("the pager got the number %s", n)
		}
	}
	if files := l.handed(); files != nil {
		t.Errorf("on disk: %q", files)
	}
	l.closes("p pager").press("j").quit()
}

// TestLess is the pager that is found when none is named.
func TestLess(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("less"); err != nil {
		t.Skip("less is not installed")
	}
	w := newWorld(t, sandbox.Options{}, "")
	x := w.console(80, 24, "PAGER=less -rFX", "LESS=-r", "LESSOPEN=echo OTHER %s")
	x.cut = true
	x.press("J").shows("p pager").press("p").until("less", func(s string) bool {
		return strings.HasPrefix(s, "{\n") && strings.HasSuffix(strings.TrimRight(s, "\n "), ":")
	})
	x.press("!").press("G").shows("(END)").press("q").shows("p pager", "Operations")
	x.closes("p pager").quit()
}

// TestBadPrograms: whatever another program does to the terminal or itself, the screen
// is the console's afterwards, and the terminal as before when that has ended.
func TestBadPrograms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		do   func(l lends)
		told string
	}{
		"killed":      {body: "echo OTHER; kill -9 $$", told: "other was ended by a signal: killed."},
		"crashes":     {body: "printf '\\033[?1049h\\033[?1000h\\033[5;9r\\033[4h\\033(0'; stty raw -echo; echo OTHER; kill -SEGV $$", told: "other was ended by a signal: segmentation fault"},
		"fails":       {body: "echo OTHER; exit 7", told: "other ended with code 7."},
		"leaves raw":  {body: "printf '\\033[?1049h\\033[?2004h\\033[31;7m'; stty raw -echo -isig; echo OTHER", told: ""},
		"ctrl+c":      {body: "echo OTHER; exec sleep 1000", do: func(l lends) { l.shows("OTHER").press(ctrlC) }, told: "other was ended by a signal: interrupt"},
		"other size":  {body: "echo OTHER; read k </dev/tty", do: func(l lends) { l.shows("OTHER").resize(120, 40); l.press(enter) }},
		"types ahead": {body: "echo OTHER; stty raw -echo; echo READY; sleep 0.3", do: func(l lends) { l.shows("READY").press("q", "q", "y") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := lending(t, c.body)
			l.press("J").shows("p pager").press("p")
			if c.do != nil {
				c.do(l)
			}
			if c.told != "" {
				l.shows(c.told)
			}
			l.whole("p pager")
			if name == "other size" {
				l.until("a screen of 40 lines", func(s string) bool {
					lines := strings.Split(s, "\n")
					return len(lines) >= 40 && strings.Contains(lines[39], "p pager")
				})
			}
			l.closes("p pager").press("j").quit()
		})
	}
}

// TestNoPrograms: what is not there, or not named, says so and leaves the screen alone.
func TestNoPrograms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "")
	broken := filepath.Join(w.home, "broken")
	if err := os.WriteFile(broken, []byte("#!/nowhere/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	x := w.console(80, 24, "PAGER=/nowhere/pager", "EDITOR=", "VISUAL=")
	x.press("J").shows("y copy").press("p").shows("/nowhere/pager is not found").press("e").shows("set $VISUAL or $EDITOR")
	x.closes("y copy").press("d").shows("1 of 3").press("V").shows("No viewer is configured")
	x.quit()
	x = w.console(80, 24, "PAGER="+broken)
	x.press("J").shows("p pager").press("p").shows("broken was not started: no such file or directory.").shows("Operations")
	x.closes("p pager").quit()
}

// TestDocumentViewer: a document goes to the viewer after a yes, in a file that only this user
// may read and that is gone afterwards; the trail has it as saving has.
func TestDocumentViewer(t *testing.T) {
	t.Parallel()
	l := lending(t, `cp -p "${1#--file=}" "$HOME/copy"; stat -c %a "${1#--file=}" "$(dirname "${1#--file=}")"; echo "OTHER $2"; read k`)
	l.press("d").shows("1 of 3").press("V").armed("Write invoice.pdf to a temporary file", "only you may read")
	l.press("n").shows("Nothing was written")
	if files := l.handed(); files != nil {
		t.Errorf("on disk without a yes: %q", files)
	}
	l.press("V").armed("Write invoice.pdf").press("y").shows("600", "700", "OTHER $HOME;id")
	if files := l.handed(); len(files) != 1 || filepath.Base(files[0]) != "invoice.pdf" || !strings.HasPrefix(files[0], l.run) {
		t.Errorf("on disk: %q", files)
	}
	l.press(enter).shows("the temporary file is removed")
	l.whole("enter look")
	if files := l.handed(); files != nil {
		t.Errorf("on disk afterwards: %q", files)
	}
	if b, _ := os.ReadFile(filepath.Join(l.w.home, "copy")); !bytes.HasPrefix(b, []byte("%PDF")) {
		t.Errorf("the viewer got %.20q", b)
	}
	l.quit()
	if n := strings.Count(l.w.command("audit", "list", "-o", "json"), `"document.download"`); n != 1 {
		t.Errorf("%d records of it", n)
	}
}

// TestEditor: nothing is written without a yes, and what is changed is not read back.
func TestEditor(t *testing.T) {
	t.Parallel()
	l := lending(t, `cp "$1" "$HOME/copy"; echo changed >"$1"; echo swap >"$(dirname "$1")/.swap"; echo OTHER; read k`)
	l.press("J").shows("e editor").press("e").armed("not read back").press("n").shows("Nothing was written")
	if files := l.handed(); files != nil {
		t.Errorf("on disk without a yes: %q", files)
	}
	l.press("e").armed("not read back").press("y").shows("OTHER")
	if files := l.handed(); len(files) != 1 {
		t.Errorf("on disk: %q", files)
	}
	l.press(enter).shows("nothing was read back")
	l.whole("e editor")
	if files := l.handed(); files != nil {
		t.Errorf("on disk afterwards: %q", files)
	}
	if b, _ := os.ReadFile(filepath.Join(l.w.home, "copy")); !bytes.Contains(b, []byte(`"opid"`)) || !bytes.Contains(b, []byte("••••")) {
		t.Errorf("the editor got %s", b)
	}
	l.closes("e editor").quit()
}

// TestEndedWhileLent: a console that is ended ends the program and removes its file; of
// one that is killed the next removes it.
func TestEndedWhileLent(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		l := lending(t, `trap 'exit 0' TERM HUP; stty raw -echo; printf '\033[?1049hOTHER'; echo $$ >"$HOME/pid"; while :; do sleep 0.1; done`)
		l.press("d").shows("1 of 3").press("V").armed("Write invoice.pdf").press("y").shows("OTHER")
		_ = l.cmd.Process.Signal(sig)
		<-l.ended
		files := l.handed()
		if sig == syscall.SIGTERM {
			if files != nil {
				t.Errorf("on disk after SIGTERM: %q", files)
			}
			if _, after, _ := bytes.Cut(l.output(), []byte("OTHER")); !bytes.Contains(after, []byte("\x1b[?1047l")) || l.termios() != l.before {
				t.Errorf("the terminal is not as before: %q", after)
			}
			continue
		}
		if len(files) != 1 {
			t.Fatalf("on disk after SIGKILL: %q", files)
		}
		if b, err := os.ReadFile(filepath.Join(l.w.home, "pid")); err == nil { // what the kernel's hang-up of a real terminal does
			var pid int
			_, _ = fmt.Sscan(string(b), &pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		next := l.w.console(80, 24)
		for end := time.Now().Add(patience); l.handed() != nil; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("still on disk: %q", l.handed())
			}
		}
		next.quit()
	}
}

// TestProgramAsAJob: ctrl+z in the program stops it and the console, fg continues both,
// and ctrl+z of the console works afterwards.
func TestProgramAsAJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "")
	w.env = append(w.env, "PAGER="+w.script("other", `echo OTHER; trap : CONT; while ! read k </dev/tty; do echo again; done; echo "OTHER $k"; read k </dev/tty`))
	sh := shell(t, w)
	sh.shows("60 operations").press("J").shows("p pager").press("p").shows("OTHER").press(ctrlZ).shows("Stopped")
	sh.press("clear; fg", enter).gone("Stopped").insists("go\r", "OTHER go")
	sh.press(enter).shows("p pager", "Operations").closes("p pager").press(ctrlZ).shows("Stopped")
	sh.press("fg", enter).shows("PENDING", "Operations").press(ctrlC)
	sh.until("the end", func(string) bool { return strings.HasSuffix(strings.TrimSpace(sh.screen()), "$") })
	sh.press("echo over$((1+1)); exit", enter).shows("over2")
	<-sh.ended
}
