package verdict_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/internal/domain/verdict"
	"opdeck/internal/domain/verdict/verdicttest"
)

var update = flag.Bool("update", false, "write docs/incidents.md")

// TestIncidentsDocument: docs/incidents.md has what every surface says first about each incident.
func TestIncidentsDocument(t *testing.T) {
	const path = "../../../docs/incidents.md"
	var b strings.Builder
	b.WriteString("# Incidents\n\nWhat every surface says first, with since when, the next step and who can do it.\n" +
		"`go test ./internal/domain/verdict -run IncidentsDocument -update` prints this page from the tests' incidents.\n" +
		"TestIncidentsOfTheProgram brings the built program into each, except those of `untried.go`, and compares every\n" +
		"surface.\n\n| Incident | First sentence | Next step | Who |\n|---|---|---|---|\n")
	all := verdicttest.Incidents()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f, wrong := verdict.Conclude(all[name].Facts).First()
		if !wrong {
			continue
		}
		next := f.Next.Do
		if f.Next.Command != "" {
			next += " `" + f.Next.Command + "`"
		}
		if f.Since.IsZero() || f.Since.After(verdicttest.Noon.Add(time.Minute)) {
			t.Errorf("%s: since %s", name, f.Since)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, f.Sentence, next, f.Who)
	}
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != b.String() {
		t.Errorf("docs/incidents.md is old: run with -update (%v)", err)
	}
}
