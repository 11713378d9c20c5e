//go:build linux

package e2e

import (
	"os"
	"path/filepath"
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
