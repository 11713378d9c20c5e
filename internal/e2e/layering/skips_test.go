package layering

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestSkippedTestsAreFound: .ci/run finds the tests that it runs without the race detector by their first line.
func TestSkippedTestsAreFound(t *testing.T) {
	first := regexp.MustCompile(`\nfunc Test[A-Za-z0-9]+\(t \*testing\.T\) \{\n\tracedetector\.Skip\(t\)\n`)
	found := 0
	format := "{{$dir := .Dir}}{{range .TestGoFiles}}{{$dir}}/{{.}}\n{{end}}{{range .XTestGoFiles}}{{$dir}}/{{.}}\n{{end}}"
	for _, file := range goList(t, "-f", format, "./...") {
		if file == "" || strings.HasSuffix(file, "skips_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Count(string(text), "racedetector.Skip(")
		if found += all; all != len(first.FindAll(text, -1)) {
			t.Errorf("%s: racedetector.Skip is not the first line of a test, so that nothing runs it", file)
		}
	}
	if found == 0 {
		t.Error("no test was found")
	}
}
