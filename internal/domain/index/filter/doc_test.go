package filter

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of fields into docs/filter.md")

// TestDocumentedFields holds the table in docs/filter.md against the fields.
func TestDocumentedFields(t *testing.T) {
	const file, from, to = "../../../../docs/filter.md", "<!-- fields: written by `go test ./internal/domain/index/filter -update` -->\n", "<!-- /fields -->"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), from)
	_, tail, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatal("docs/filter.md has no place for the table of fields")
	}
	want := head + from + "\n" + Operations().Markdown() + "\n" + to + tail
	if want == string(b) {
		return
	}
	if !*update {
		t.Fatal("the table in docs/filter.md is not today's; go test ./internal/domain/index/filter -update writes it")
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
