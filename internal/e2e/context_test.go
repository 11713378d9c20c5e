//go:build linux

package e2e

import (
	"strings"
	"testing"

	"opdeck/internal/sandbox"
)

// TestProduction is marked by word and wants the end of the id typed.
func TestProduction(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, `kind = "production"`)
	op := w.operations()[0]
	x := w.console(80, 24)
	x.shows("PRODUCTION", "━━")
	x.press("d").shows("1 of 3").press("x").armed("Remove invoice.pdf", "Type the last 4 characters of the document id:")
	x.press("y", enter).gone("[ No ]")
	if got := w.names(op.Opid); !strings.Contains(got, "invoice.pdf") {
		t.Fatal("y was enough in production")
	}
	guid := op.Documents[0].GUID
	x.press("x").armed("Remove invoice.pdf")
	for i, r := range guid[len(guid)-4:] { // one by one: together they count as pasted
		x.press(string(r)).shows("of the document id: " + guid[len(guid)-4:][:i+1])
	}
	x.confirms("Removed invoice.pdf. To restore it: z.")
	x.quit()
}

// TestViewer: a role that may not reveal sees no account number anywhere, and its disabled keys say why.
func TestViewer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, `role = "viewer"`)
	op := w.operations()[0]
	x := w.console(120, 40)
	x.press("J").shows(`"number"`, "••••").closes(`"number"`)
	x.press("Y").shows("as JSON")
	x.wrote(`\x1b\]52;`, 1)
	x.press("M").shows("may not")
	x.press(enter).shows(op.Opid, "••••0000").press("J").shows(`"number"`, "••••").closes(`"number"`)
	x.press("Y").wrote(`\x1b\]52;`, 2)
	x.press("d").shows("1 of 3").press("x").shows("Your role (viewer) may not")
	for _, number := range numbers(t, w, op.Opid) {
		if strings.Contains(string(x.output()), number) {
			t.Errorf("the account number %s was shown", number)
		}
	}
	copied(t, x, func(s string) {
		for _, number := range numbers(t, w, op.Opid) {
			if strings.Contains(s, number) {
				t.Errorf("the account number %s was copied", number)
			}
		}
	})
	x.quit()
}

// TestWrongClock: the service's clock is an hour off; lifetimes are counted here.
func TestWrongClock(t *testing.T) {
	t.Parallel()
	for _, skew := range []string{"skew=1h", "skew=-1h"} {
		w := newWorld(t, sandbox.Options{}, "")
		w.faults(skew)
		x := w.console(80, 24)
		x.shows("access 4m")
		x.press("6").shows("tokens are valid").press("r", "1").shows("60 operations")
		if st := w.stats(); st.Logins != 1 || st.Unauthorized != 0 {
			t.Errorf("%s: %d logins, %d refused calls", skew, st.Logins, st.Unauthorized)
		}
		x.quit()
	}
}

// TestTwoAtOnce: two consoles on one state folder share one session.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "")
	op := w.operations()[0]
	a, b := w.console(80, 24), w.console(80, 24)
	a.press(enter).shows(op.Opid).press("d").shows("1 of 3")
	b.press(enter).shows(op.Opid).press("d").shows("1 of 3")
	a.press("x").armed("Remove invoice.pdf").press("y").shows("Removed invoice.pdf")
	b.press("r").shows("1 of 2")
	b.press("6").matches(`Processes|processes`)
	if st := w.stats(); st.Logins != 1 || st.MostPresentations > 1 {
		t.Errorf("%d logins, a refresh token shown %d times", st.Logins, st.MostPresentations)
	}
	a.quit()
	b.quit()
}
