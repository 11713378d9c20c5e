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

// short are the words of the table for who can carry out a step.
var short = map[verdict.Who]string{verdict.Operator: "host", verdict.Admin: "opdeck", verdict.Provider: "service"}

// TestIncidentsDocument: docs/incidents.md has what every surface says first about each incident.
func TestIncidentsDocument(t *testing.T) {
	const path = "../../../docs/incidents.md"
	var b strings.Builder
	b.WriteString("# Incidents\n\nWhat every surface says first, with since when, the next step and who can do it.\n" +
		"`go test ./internal/domain/verdict -run IncidentsDocument -update` prints this page from the tests' incidents.\n" +
		"Who: *host* is the administrator of the host, *opdeck* your opdeck administrator, *service* the service's support.\n\n| Incident | First sentence | Next step | Who |\n|---|---|---|---|\n")
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
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, f.Sentence, next, short[f.Who])
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
