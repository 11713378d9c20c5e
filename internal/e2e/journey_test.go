//go:build linux

package e2e

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opdeck/internal/sandbox"
)

// TestFirstRun is an empty home: no config, no state, nothing asked.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		home := t.TempDir()
		x := start(t, w, h, home, nil, "--still")
		x.shows("SANDBOX", "500 operations", "PENDING", "1 of 500").matches(`access [34]m`)
		x.press("q").armed("Leave the console?").press(enter).gone("Leave the console?")
		x.press("q").armed("Leave the console?").press("y")
		x.leaves(0)
		folder, err := os.Stat(filepath.Join(home, ".local/state/opdeck"))
		if err != nil || folder.Mode().Perm() != 0o700 {
			t.Errorf("the state folder is %v, %v", folder, err)
		}
	})
}

// TestDocuments is the journey of an operation's documents.
func TestDocuments(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, width, height int) {
		w := newWorld(t, sandbox.Options{}, "")
		op := w.operations()[0]
		x := w.console(width, height)
		x.press("o").shows("Open an operation").types(op.Opid).press(enter)
		x.shows(op.Opid, "WITHDRAW", "SWIFT", "Harbour & Finch")
		x.press(pgdown).shows("••••0000")
		x.press(end).shows("3 documents", "invoice.pdf", "locked")
		x.press("d").shows("1 of 3", "contract.pdf", "ba464e45")

		x.press("x").armed("Remove invoice.pdf from operation").press(enter).gone("[ No ]") // enter is no
		x.press("x").armed("Remove invoice.pdf from operation").press("y")
		x.shows("Removed invoice.pdf. To restore it: z.", "1 of 2")
		if got := w.names(op.Opid); strings.Contains(got, "invoice.pdf") {
			t.Errorf("the service still has %s", got)
		}
		x.press("z").armed("Restore invoice.pdf on operation").press("y").shows("Restored invoice.pdf.", "1 of 3")

		file := w.file("amended.pdf")
		x.press(home).shows("1 of 3").press("R").shows("File on this host").types(file).press(enter, enter, enter)
		x.armed("with amended.pdf?").press("y").shows("Replaced ")
		if got := w.names(op.Opid); !strings.Contains(got, "amended.pdf") {
			t.Errorf("the service has %s", got)
		}
		x.press(end, "x") // the locked one, in any position
		for range 3 {
			if strings.Contains(x.screen(), "is locked and cannot be removed") {
				break
			}
			if strings.Contains(x.screen(), "[ No ]") {
				x.armed().press("n").gone("[ No ]")
			}
			x.press(up, "x").until("an explanation or a question", func(s string) bool {
				return strings.Contains(s, "cannot be removed") || strings.Contains(s, "[ No ]")
			})
		}
		x.shows("This document is locked and cannot be removed.", "Only the compliance team can unlock it.")
		if n := w.stats().Logins; n != 1 {
			t.Errorf("%d logins", n)
		}
		x.quit()
	})
}

// shared opens a customer of a kind and hands a token over.
func shared(t *testing.T, w *world, x *terminal, kind, token string) {
	t.Helper()
	cuid := ""
	list, err := w.service.Unshared(t.Context(), kind)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if strings.Contains(w.command("operation", "list", "--filter", "customer:"+c, "-o", "json"), c) {
			cuid = c
			break
		}
	}
	if cuid == "" {
		t.Fatalf("there is no %s to share", kind)
	}
	x.press("/").shows("status:PENDING amount").types("customer:" + cuid).shows(cuid).press(enter).shows(" match").gone("loading")
	x.press("4").shows("Verification", cuid, kind)
	x.press("S").shows("Apply share token", "A token works once").types(token).press(enter)
	x.armed("Apply this share token to", cuid).press("y")
}

// TestCustomer carries verifications from the token to the end.
func TestCustomer(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, width, height int) {
		w := newWorld(t, sandbox.Options{Operations: 300}, "")
		x := w.console(width, height)
		shared(t, w, x, "INDIVIDUAL", "demo-individual-ok-1")
		x.shows("Applied. Finalize the application (f).")
		x.shows("Next: Finalize the application (f).", " l link").press("S") // keys are offered once it was read again.shows("A token has been applied already")
		x.press("f").armed("Submit the application").press("y").shows("Finalized.")
		x.shows("Next: Wait for the review", " l link").press("f").shows("has been submitted")
		x.escape().shows(" match").escape()

		shared(t, w, x, "CORPORATE", "demo-corporate-outstanding-1")
		x.shows("for the outstanding document sets")
		x.shows("Next: Create a link (l)").press("l").armed("Create a verification link for").press("y").shows("clipboard.")
		link := x.wrote(`\x1b\]52;c;([A-Za-z0-9+/=]+)\a`, 1)
		url, err := base64.StdEncoding.DecodeString(string(link[1]))
		if err != nil || !strings.HasPrefix(string(url), "http") {
			t.Errorf("what was copied is %q, %v", url, err)
		}
		x.press("f").armed("Submit the application").press("y").matches(`Finalized|failed|refused`)
		for _, secret := range []string{"demo-individual-ok-1", "demo-corporate-outstanding-1"} {
			if bytes.Contains(x.output(), []byte(secret)) {
				t.Errorf("%s was shown", secret)
			}
		}
		x.quit()
	})
}

// TestEverywhere visits what is left: the other screens, the palette, help, the
// filter, raw JSON, copies, and the keys of the display.
func TestEverywhere(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, width, height int) {
		w := newWorld(t, sandbox.Options{}, "")
		x := w.console(width, height)
		x.press("5").shows("Limits", "billing", "policy wait")
		x.press("6").shows("Session", "generation", "No fault known.")
		x.press("Z").armed("Refresh the tokens now?", "without opdeck lose").press("y").shows("The tokens were refreshed.")
		x.escape().shows("60 operations")
		x.press("?").shows("Help · Operations").escape()
		x.press(":").shows("type to filter").types("sess").shows("Session").press(enter).shows("generation").closes("generation")
		x.press("/").shows("status:PENDING amount").types("status:PEND").shows("PEND").types("ING currency:EUR").press(enter).matches(`\d+ operations? match`)
		x.escape().shows("60 operations")
		x.press("J").shows(`"opid"`).escape()
		x.press("y").shows("Sent the operation id to the terminal's clipboard.")
		x.press("Y").shows("Sent the operation as JSON")
		x.press("t").shows("Times are")
		x.press("M").shows("Masked values are shown for 30 s.")
		x.press("!").shows("list operations").escape()
		x.press("T").shows("by status").escape().gone("by status")
		x.press("s").shows("Sort by").types("amount").shows("amount").press(enter).gone("Sort by")
		x.press(" ").shows("1 marked").escape().gone("marked")
		x.press(pgdown, end).shows("60 of 60").press(home).shows("1 of 60")
		x.wrote(`\x1b\]52;`, 2)
		x.quit()
	})
}

// TestCopyInTmux: where no tmux answers, both forms of a copy are written, and the notice names the setting.
func TestCopyInTmux(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "")
	x := w.console(80, 24, "TMUX=/tmp/tmux-0/default,1,0", "TERM=tmux-256color")
	x.press("y").shows("clipboard.", "set-clipboard")
	x.wrote(`\x1b\]52;c;[^\a]*\a\x1bPtmux;\x1b\x1b\]52;c;`, 1)
	x.quit()
}

// TestHostileData looks at operations whose texts would act on a terminal.
func TestHostileData(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "")
	ops := w.operations()
	x := w.console(100, 30)
	for n := 16; n <= 21; n++ {
		x.press("o").shows("Open an operation").types(ops[n].Opid).press(enter).shows(ops[n].Opid, "reference")
		x.press(pgdown, end).press("J").shows(`"comment"`).closes(`"comment"`)
		x.press("d").shows("Documents").closes("Documents").closes("Operation " + ops[n].Opid[:6]).shows("60 operations")
	}
	x.quit() // what was written is checked at the end of every test
}

// TestMoney shows exact amounts of the sample data on both screens.
func TestMoney(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "")
	x := w.console(120, 40)
	x.shows("98,765,432,… EUR", "-1,234.56   EUR", "0.000… EUR", "9.999… USD", "4,200.123… XQZ")
	x.press("o").types(w.operations()[10].Opid).press(enter).shows("received", "98,765,432,109,876,543,210.99 EUR")
	x.quit()
}
