package filter

import (
	"strings"
	"testing"
)

// TestGuide: the help screen has every line of the grammar, every field with its
// example, and fits a narrow window.
func TestGuide(t *testing.T) {
	lines := Operations().Guide()
	all := strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
	for _, l := range strings.Split(grammar, "\n") {
		for _, part := range strings.SplitN(strings.TrimSpace(l), "  ", 2) {
			if want := strings.Join(strings.Fields(part), " "); !strings.Contains(all, want) {
				t.Errorf("the guide lacks %q", want)
			}
		}
	}
	for _, r := range Operations().Rows() {
		for _, want := range []string{r.Name, r.Example, r.Help} {
			if !strings.Contains(all, want) {
				t.Errorf("the guide lacks %q", want)
			}
		}
	}
	for _, l := range lines {
		if len(l) > guideWidth || strings.Contains(l, "\t") {
			t.Errorf("%d cells: %q", len(l), l)
		}
	}
}

// TestExamplesParse: what is shown as an example is right.
func TestExamplesParse(t *testing.T) {
	for _, r := range Operations().Rows() {
		if e, err := Parse(r.Example); err != nil || e.Empty() {
			t.Errorf("%s: %v", r.Example, err)
		}
	}
}
