// Package filtertest checks docs/filter.md against the tables of fields.
package filtertest

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"opdeck/internal/domain/index/filter"
)

var update = flag.Bool("update", false, "write the table of fields into docs/filter.md")

// Documented checks the section name of the document at file, or writes it: grammar, which may be "", and a table of
// the fields. pkg is the package whose test writes it.
func Documented(t *testing.T, file, name, pkg, grammar string, rows []filter.Row) {
	t.Helper()
	from, to := "<!-- "+name+": written by `go test ./"+pkg+" -update` -->\n", "<!-- /"+name+" -->"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), from)
	_, tail, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table of %s", file, name)
	}
	want := head + from + "\n" + markdown(grammar, rows) + "\n" + to + tail
	if want == string(b) {
		return
	}
	if !*update {
		t.Fatalf("the table of %s in %s is not today's; go test ./%s -update writes it", name, file, pkg)
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func markdown(grammar string, rows []filter.Row) string {
	var b strings.Builder
	if grammar != "" {
		b.WriteString("```text\n" + grammar + "\n```\n\n")
	}
	b.WriteString("| Field | Kind | Example | What it is |\n|---|---|---|---|\n")
	esc := strings.NewReplacer("|", `\|`)
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s |\n", esc.Replace(r.Name), r.Kind, esc.Replace(r.Example), esc.Replace(r.Help))
	}
	return b.String()
}
