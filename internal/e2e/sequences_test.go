//go:build linux

package e2e

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"opdeck/internal/sandbox"
)

// split writes a sequence in two parts with a gap between them, cut at each byte.
func (x *terminal) split(sequence string, gap time.Duration) *terminal {
	x.t.Helper()
	for i := 1; i < len(sequence); i++ {
		began := time.Now()
		for _, part := range []string{sequence[:i], sequence[i:]} {
			if _, err := x.master.WriteString(part); err != nil {
				x.t.Fatal(err)
			}
			if late := time.Since(began); late > 100*time.Millisecond {
				x.t.Skipf("this machine is too busy: the parts were %s apart", late)
			}
			time.Sleep(gap) // the second time before another event of the terminal
		}
	}
	return x
}

// wheel, answers and marks of a paste, each of which ends in a letter that does something.
var endsInLetters = []string{"\x1b[<65;10;10M", "\x1b[M`!M", "\x1b]11;rgb:1e1e/1e1e/1e1M\a", "\x1b[24;80R", "\x1b[6;1u", "\x1bP>|M\x1b\\"}

// TestSplitSequences: what a terminal sends in two parts presses no letter that it ends in: nothing is revealed, no
// screen opens, no filter is dropped.
func TestSplitSequences(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "[ui]\nmouse = true\n")
	x := w.console(80, 24)
	x.split("\x1b[<65;10;10M", 20*time.Millisecond).shows("34 of 60")
	for _, s := range endsInLetters[2:] {
		x.split(s, 20*time.Millisecond)
	}
	x.split(up, 20*time.Millisecond).shows("32 of 60").split("\x1b[5~", 20*time.Millisecond).shows("1 of 60")
	x.press("/status:PENDING").split("\x1b[D", 20*time.Millisecond).shows("status:PENDING").press("\x1bOM").matches(`match.*status:PENDING`)
	x.split("\x1b[200~MMM\x1b[201~", 20*time.Millisecond).shows("Pasted text does nothing here", "status:PENDING")
	x.escape().shows("60 operations").press("\x1bOu").shows("Limits").press("\x1bOq").shows("60 operations") // 5 and 1 of a keypad
	if strings.Contains(w.command("audit", "list", "-o", "json"), `"reveal"`) {
		t.Error("something was revealed")
	}
	x.press("M").shows("Masked values are shown for 30 s.")
	if !strings.Contains(w.command("audit", "list", "-o", "json"), `"reveal"`) {
		t.Error("the key itself reveals nothing")
	}
	x.quit()
}

// TestNothingIsAskedAtStart: neither a command nor the console asks the terminal for its colours or anything else, so
// that nobody waits for a terminal that does not answer and nothing typed ahead is lost.
func TestNothingIsAskedAtStart(t *testing.T) {
	t.Parallel()
	asks := regexp.MustCompile(`\x1b\][0-9]+;\?|\x1b\[[?>=]?[0-9]*[cn]|\x1b\[\?[0-9]+\$p`)
	command := start(t, 80, 24, t.TempDir(), nil, "version").shows("opdeck")
	<-command.ended
	console := start(t, 80, 24, t.TempDir(), nil).matches(`\d+ operations`)
	console.quit()
	for name, x := range map[string]*terminal{"version": command, "the console": console} {
		if found := asks.FindAll(x.output(), -1); len(found) > 0 || len(x.output()) == 0 {
			t.Errorf("%s asks %q", name, found)
		}
	}
}
