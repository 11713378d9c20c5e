//go:build unix

package program

import (
	"bytes"
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
