//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opdeck/internal/sandbox"
)

// TestCtrlCEndsAQuestion of a command at once, without enter, with nothing sent or
// written, and the terminal echoes again.
func TestCtrlCEndsAQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "")
	op := w.operations()[0]
	for name, c := range map[string]struct {
		args  []string
		typed string
		shows string
	}{
		"name":    {[]string{"--config", "new.toml", "config", "init"}, "", "Name of the context"},
		"address": {[]string{"--config", "new.toml", "config", "init"}, "stage\r", "Address of the service"},
		"confirm": {[]string{"document", "remove", op.Opid, op.Documents[0].GUID}, "", "[y/N]"},
		"hidden":  {[]string{"compliance", "share", op.Customer.Cuid}, "", "not shown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := start(t, 100, 30, w.home, w.env, c.args...)
			if c.typed != "" {
				x.press(c.typed)
			}
			x.shows(c.shows).press(ctrlC)
			select {
			case <-x.ended:
			case <-time.After(patience):
				t.Fatalf("it waits for enter:\n%s", x.screen())
			}
			if code := x.cmd.ProcessState.ExitCode(); code != 130 {
				t.Errorf("exit code %d\n%s", code, x.screen())
			}
			if after := x.termios(); after != x.before {
				t.Errorf("the terminal's settings changed:\n%+v\n%+v", x.before, after)
			}
			if _, err := os.Stat(filepath.Join(w.home, "new.toml")); err == nil {
				t.Error("a config was written")
			}
		})
	}
	t.Cleanup(func() {
		if n := w.removals(); n != 0 {
			t.Errorf("%d removals were sent", n)
		}
	})
}

// TestAQuestionCountsTheCalls: a job that needs more calls than are left says so before it begins.
func TestAQuestionCountsTheCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "")
	op := w.operations()[0]
	path := filepath.Join(w.home, "opdeck.toml")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w.config(strings.Replace(string(b), "billing = 1000", "billing = 4", 1))
	file := w.file("new.pdf")
	x := start(t, 120, 30, w.home, w.env, "document", "replace", op.Opid, op.Documents[0].GUID, file)
	x.shows("This needs 4 billing calls, and 3 can be sent now: the last waits about ", "[y/N]").press("n\r").shows("nothing was sent")
	<-x.ended
	if n := w.removals(); n != 0 {
		t.Errorf("%d removals were sent", n)
	}
}
