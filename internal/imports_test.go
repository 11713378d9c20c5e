// Package internal_test holds what is true of the program as a whole.
package internal_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// layers are the parts of the program, the lowest first: a package imports its own layer and those below.
var layers = []string{"api", "internal/format", "internal/field", "internal/act", "internal/system", "internal/domain",
	"internal/sandbox", "internal/store", "internal/present", "internal/app", "ui", "views", "internal/surface", ""}

// beside are pairs of which neither imports the other, though one stands above: screens are not the wiring's, and the
// wiring knows no screens.
var beside = [][2]string{{"ui", "internal/app"}, {"views", "internal/app"}, {"ui", "internal/store"},
	{"views", "internal/store"}, {"ui", "internal/sandbox"}, {"views", "internal/sandbox"}, {"views", "internal/surface"}}

// TestImports: imports run downwards, and the program links nothing that is there for tests.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}}{{range .Imports}} {{.}}{{end}}", "opdeck").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		all := strings.Fields(line)
		if !ours(all[0]) {
			if all[0] == "testing" {
				t.Error("the program links package testing")
			}
			continue
		}
		seen++
		from := layerOf(all[0])
		if from < 0 {
			t.Errorf("%s has no layer", all[0])
			continue
		}
		for _, p := range all[1:] {
			if !ours(p) {
				continue
			}
			if to := layerOf(p); to > from || slices.ContainsFunc(beside, func(pair [2]string) bool {
				return layers[from] == pair[0] && layers[max(to, 0)] == pair[1]
			}) {
				t.Errorf("%s imports %s", all[0], p)
			}
			if strings.HasSuffix(p, "test") || strings.HasPrefix(p, "opdeck/internal/sandbox/") ||
				strings.HasPrefix(p, "opdeck/internal/tools") || strings.HasPrefix(p, "opdeck/internal/e2e") {
				t.Errorf("%s imports %s, which is for tests", all[0], p)
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d packages of ours", seen)
	}
}

func ours(p string) bool { return p == "opdeck" || strings.HasPrefix(p, "opdeck/") }

// layerOf is the place of a package's layer; -1: none.
func layerOf(p string) int {
	p = strings.TrimPrefix(strings.TrimPrefix(p, "opdeck"), "/")
	return slices.IndexFunc(layers, func(l string) bool {
		return p == l || l != "" && strings.HasPrefix(p, l+"/")
	})
}
