package cli

import (
	"bytes"
	"strings"
	"testing"

	"opdeck/internal/act"
	"opdeck/ui/draw"
)

// said is what a command prints, at a terminal or into a pipe.
func said(t *testing.T, tty bool, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	env := Env{Args: args, In: strings.NewReader(""), Out: &out, Err: &out, OutTTY: tty, OutWidth: 80,
		Getenv: func(string) string { return "" }}
	if code := Run(t.Context(), env); code != 0 {
		t.Errorf("%q: exit %d: %s", args, code, out.String())
	}
	return out.String()
}

// TestManPage: a person reads the page as text, a program gets what man takes.
func TestManPage(t *testing.T) {
	if got := said(t, true, "man", "operation", "list"); !strings.HasPrefix(got, "opdeck-operation-list(1)\n") ||
		!strings.Contains(got, "\nUsage:\n  opdeck operation list [flags]\n") || strings.Contains(got, "\n.") {
		t.Errorf("on a terminal:\n%s", got)
	}
	if got := said(t, false, "man", "operation", "list"); !strings.Contains(got, `.TH "OPDECK-OPERATION-LIST" "1"`) {
		t.Errorf("in a pipe:\n%.300s", got)
	}
}

// TestHelpOfEveryCommand: no line is wider than 80 cells, each command has an example, and the flags of every command
// are at the root only.
func TestHelpOfEveryCommand(t *testing.T) {
	top := said(t, true, "--help")
	for _, want := range []string{"\nOperations and customers:\n", "\nSession and limits:\n", "\nEvents and audit:\n", "\nRunning opdeck:\n",
		"\n      --no-color ", "\n  -o, --output string "} {
		if !strings.Contains(top, want) {
			t.Errorf("the help has no %q:\n%s", want, top)
		}
	}
	pages := map[string]string{"opdeck": top}
	for _, a := range act.All() {
		if a.Without[act.Command] == "" {
			group, _, _ := strings.Cut(a.Path(), " ")
			pages[a.Path()], pages[group] = said(t, true, append(strings.Fields(a.Path()), "--help")...), said(t, true, group, "--help")
		}
	}
	for name, page := range pages {
		for line := range strings.Lines(page) {
			if draw.Width(strings.TrimRight(line, "\n")) > 80 {
				t.Errorf("%s: a line of more than 80 cells: %s", name, line)
			}
		}
		if !strings.Contains(page, "\nExample:\n  ") || strings.Contains(page, "[=") ||
			name != "opdeck" && strings.Contains(page, "--log-file") {
			t.Errorf("%s:\n%s", name, page)
		}
	}
}
