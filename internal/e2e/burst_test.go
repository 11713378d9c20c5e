//go:build linux

package e2e

import (
	"strings"
	"testing"

	"opdeck/internal/sandbox"
)

// TestBursts is a slow line: what was typed arrives in one piece.
func TestBursts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "")
	x := w.console(80, 24)
	x.press("jjjjjjjj").shows("9 of 60").press("kkk").shows("6 of 60")
	x.press("/status:PENDING\r").shows("status:PENDING").matches(`\d+ operations? match`)
	x.escape().shows("60 operations")
	x.press(":limits\r").shows("Limits", "policy wait")
	x.escape().shows("60 operations")
	x.press(strings.Repeat("j", 256)).shows("60 of 60") // a full buffer is not held back
	x.quit()
}

// TestPastesAnswerNothing pastes into an open question, with and without the
// marks of a terminal that has bracketed paste.
func TestPastesAnswerNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "")
	op := w.operations()[0]
	x := w.console(80, 24)
	x.press("o").shows("Open an operation").press(op.Opid + enter).gone("Open an operation").shows(op.Opid)
	x.press("d").shows("1 of 3", "invoice.pdf")
	x.press("xy\ty\r").armed("Remove invoice.pdf from operation") // typed before it was there
	x.press(enter).gone("[ No ]")

	hostile := strings.Repeat("yes, remove it\r\ny\ty\r\x1b]0;y\ay\x1b[C\ry", 36)
	for name, paste := range map[string]string{
		"marked": "\x1b[200~" + hostile + "\x1b[201~", "unmarked": hostile, "unmarked, in one line": strings.Repeat("removeyes", 120),
	} {
		if len(paste) < 1000 {
			t.Fatalf("%s: only %d bytes", name, len(paste))
		}
		x.press("x").armed("Remove invoice.pdf from operation")
		x.press(paste).shows("pasted text is ignored.").armed()
		x.press(enter).gone("[ No ]").shows("1 of 3")
	}
	if n := w.removals(); n != 0 {
		t.Errorf("%d documents were removed", n)
	}
	x.press("x").armed("Remove invoice.pdf from operation").press("y").shows("Removed invoice.pdf") // a key still is one
	x.quit()
}
