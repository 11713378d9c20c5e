//go:build linux

package e2e

import (
	"strings"
	"testing"
	"time"

	"opdeck/internal/sandbox"
)

// TestVeil goes away from the terminal: the screen blanks by itself, the key that
// brings it back does nothing else, and a question that was open has lapsed.
func TestVeil(t *testing.T) {
	if testing.Short() {
		t.Skip("the shortest veil is ten seconds")
	}
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "[ui]\nidle_veil = \"10s\"\n")
	op := w.operations()[0]
	x := w.console(80, 24)
	x.press("o").shows("Open an operation").press(op.Opid+enter).shows(op.Opid, "h history")
	x.press("d").shows("1 of 3", "invoice.pdf")
	x.press("x").armed("Remove invoice.pdf from operation")
	left := time.Now()
	x.shows("No key pressed for 10s.", "Press any key to continue.")
	if away := time.Since(left); away < 9*time.Second {
		t.Errorf("blank after %s", away)
	}
	for _, secret := range []string{"invoice.pdf", op.Opid, "Remove"} {
		if strings.Contains(x.screen(), secret) {
			t.Errorf("%q is read behind the veil:\n%s", secret, x.screen())
		}
	}
	x.press("y").shows("The question expired while the screen was blank: nothing was done.", "invoice.pdf", "1 of 3").gone("Press any key")
	time.Sleep(500 * time.Millisecond) // keys typed with the first one are dropped too
	x.press("j").shows("2 of 3")
	if n := w.removals(); n != 0 {
		t.Errorf("%d documents were removed by the key that lifted the veil", n)
	}
	x.press("x").armed("Remove contract.pdf").press("y").shows("Removed contract.pdf") // and keys work again
	x.quit()
}
