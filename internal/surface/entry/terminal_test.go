//go:build unix

package entry

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"opdeck/internal/surface/cli"
)

// TestNoRawBytesOnATerminal: what is not text is not written to a terminal, with - as
// little as without a file; into a pipe it goes.
func TestNoRawBytesOnATerminal(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	config := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"document", "download", "C1", "f-1", "-"}, {"document", "download", "C1", "f-1"}, {"operation", "report", "-"},
	} {
		master, terminal, err := pty.Open()
		if err != nil {
			t.Skip(err)
		}
		pipe, err := os.Create(filepath.Join(dir, "pipe"))
		if err != nil {
			t.Fatal(err)
		}
		for _, out := range []*os.File{terminal, pipe} {
			var errs bytes.Buffer
			flags := []string{"--config", config, "--state", filepath.Join(dir, "state"), "-c", "sandbox", "--still"}
			code := Run(t.Context(), cli.Build{}, append(flags, args...), strings.NewReader(""), out, &errs)
			refused := strings.Contains(errs.String(), "not written to a terminal")
			if refused != (out == terminal) || refused && code != 2 {
				t.Errorf("%q, terminal: %v: exit %d, %s", args, out == terminal, code, errs.String())
			}
		}
		_ = terminal.Close()
		_ = master.Close()
		_ = pipe.Close()
	}
}

// TestPlainModeIsWrappedHere: what plain mode says is broken between words where the terminal
// ends, which would break it anywhere; into a pipe lines go whole.
func TestPlainModeIsWrappedHere(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	config := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	master, terminal, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = master.Close() }()
	if err := pty.Setsize(terminal, &pty.Winsize{Cols: 50, Rows: 20}); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.Create(filepath.Join(dir, "pipe"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pipe.Close() }()
	said := make(chan string)
	go func() {
		b, _ := io.ReadAll(master) // its end is an error on Linux
		said <- string(b)
	}()
	for _, out := range []*os.File{terminal, pipe} {
		var errs bytes.Buffer
		if code := Run(t.Context(), cli.Build{}, []string{"--config", config, "--state", filepath.Join(dir, "state"), "-c", "sandbox", "--still", "--plain"}, strings.NewReader("quit\n"), out, &errs); code != 0 {
			t.Fatalf("exit %d, %s", code, errs.String())
		}
	}
	_ = terminal.Close()
	whole, err := os.ReadFile(pipe.Name())
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		text string
		most int
	}{"terminal": {<-said, 50}, "pipe": {string(whole), 1000}} {
		widest := 0
		for l := range strings.Lines(c.text) {
			widest = max(widest, len(strings.TrimRight(l, "\r\n")))
		}
		words := strings.Join(strings.Fields(c.text), " ")
		if widest > c.most || c.most == 1000 && widest < 100 || !strings.Contains(words, "Everything is printed as whole lines.") {
			t.Errorf("%s: a line of %d bytes in\n%s", what, widest, c.text)
		}
	}
}
