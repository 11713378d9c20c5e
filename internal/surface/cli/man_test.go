package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opdeck/internal/act"
)

// TestManPage: a person reads the page through man, else through the pager, else as it
// is; a program gets it as it was written, and a folder a page for each command.
func TestManPage(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	script := func(name, body string) {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/bin/sh", filepath.Join(bin, "sh")); err != nil {
		t.Fatal(err)
	}
	run := func(tty bool, pager string, args ...string) string {
		var b bytes.Buffer
		env := Env{Args: append([]string{"man"}, args...), In: strings.NewReader(""), Out: &b, Err: &b, OutTTY: tty,
			Getenv: func(k string) string { return map[string]string{"PAGER": pager}[k] }}
		if code := Run(t.Context(), env); code != 0 {
			t.Errorf("exit %d: %s", code, b.String())
		}
		return b.String()
	}
	const first = "read -r line; read -r line; echo \"$0 shows $line\""
	script("pager", first)
	if got := run(false, "pager"); !strings.HasPrefix(got, ".nh") {
		t.Errorf("for a program: %.80q", got)
	}
	text := run(true, "")
	for _, want := range []string{"\nSYNOPSIS\n    opdeck [flags]\n", "-o, --output=\"table\"", "opdeck-operation(1)"} {
		if !strings.Contains(text, want) {
			t.Errorf("as text it has no %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, `\f`) || strings.Contains(text, "\n.") {
		t.Errorf("as text it has marks of its own:\n%s", text)
	}
	if got := run(true, "pager"); !strings.Contains(got, "pager shows opdeck - A back-office") {
		t.Errorf("through the pager: %q", got)
	}
	script("man", "[ \"$1 $2\" = '-l -' ] || exit 1\n"+first)
	if got := run(true, "pager"); !strings.Contains(got, "man shows .TH") {
		t.Errorf("through man: %q", got)
	}
	script("man", "exit 1") // one that knows no -l
	if got := run(true, ""); got != text {
		t.Errorf("where man cannot: %.80q", got)
	}

	dir := t.TempDir()
	run(true, "", dir)
	for _, a := range act.All() {
		if a.Without[act.Command] != "" {
			continue
		}
		page, err := os.ReadFile(filepath.Join(dir, "opdeck-"+strings.ReplaceAll(a.Path(), " ", "-")+".1"))
		if err != nil || !bytes.Contains(page, []byte(`\fBopdeck `)) {
			t.Errorf("%s has no page: %v", a.Name, err)
		}
	}
}
