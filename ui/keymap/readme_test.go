package keymap

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of keys into the README")

// TestReadmeTableIsThisKeymap holds the README's table of keys against the keys
// as they are declared.
func TestReadmeTableIsThisKeymap(t *testing.T) {
	const file, from, to = "../../README.md", "<!-- keys: written by `go test ./ui/keymap -update` -->\n", "<!-- /keys -->"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), from)
	_, tail, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatal("the README has no place for the table of keys")
	}
	want := head + from + "\n" + Markdown() + "\n" + to + tail
	if want == string(b) {
		return
	}
	if !*update {
		t.Fatal("the README's table of keys is not today's; go test ./ui/keymap -update writes it")
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
