package keymap

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/keys.md")

// TestKeysDocument holds the table in docs/keys.md against the keys as they are
// declared.
func TestKeysDocument(t *testing.T) {
	const file, from, to = "../../docs/keys.md", "<!-- keys: written by `go test ./ui/keymap -update` -->\n", "<!-- /keys -->"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), from)
	_, tail, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatal("docs/keys.md has no place for the table")
	}
	want := head + from + "\n" + Markdown() + "\n" + to + tail
	if want == string(b) {
		return
	}
	if !*update {
		t.Fatal("docs/keys.md is not today's; go test ./ui/keymap -update writes it")
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
