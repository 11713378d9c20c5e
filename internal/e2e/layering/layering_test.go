package layering

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

const module = "opdeck/"

// goList runs go list at the root of the module; a line of its answer is one string.
func goList(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = "../../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// layers are the parts of the program, the lowest first: a package imports its own layer and those below.
var layers = []string{"api", "internal/format", "internal/field", "internal/act", "internal/system", "internal/domain",
	"internal/sandbox", "internal/store", "internal/present", "internal/app", "ui", "views", "internal/surface", ""}

// beside are pairs of which neither imports the other, though one stands above: screens are not the wiring's, and the
// wiring knows no screens.
var beside = [][2]string{{"ui", "internal/app"}, {"views", "internal/app"}, {"ui", "internal/store"},
	{"views", "internal/store"}, {"ui", "internal/sandbox"}, {"views", "internal/sandbox"}, {"views", "internal/surface"}}

// TestImports: imports run downwards, and the program links nothing that is there for tests.
func TestImports(t *testing.T) {
	seen := 0
	for _, line := range goList(t, "-deps", "-f", "{{.ImportPath}}{{range .Imports}} {{.}}{{end}}", ".") {
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
				if from < slices.Index(layers, "ui") && strings.Contains(p, "charmbracelet/bubbletea") {
					t.Errorf("%s imports %s", all[0], p)
				}
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

// TestOneNameForEachPackage: no two packages of ours have one name, and no file
// gives another name to a package of ours.
func TestOneNameForEachPackage(t *testing.T) {
	paths := map[string]string{}
	for _, line := range goList(t, "-f", "{{.Name}} {{.ImportPath}} {{.Dir}}", "./...") {
		fields := strings.SplitN(line, " ", 3)
		name, pkg, dir := fields[0], fields[1], fields[2]
		if other, ok := paths[name]; ok && name != "main" {
			t.Errorf("%s and %s are both called %s", other, pkg, name)
		}
		if paths[name] = pkg; name != path.Base(pkg) && name != "main" {
			t.Errorf("%s is called %s", pkg, name)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			noAlias(t, file)
		}
	}
}

// noAlias fails t when file imports a package of ours under another name. A blank
// import has no name.
func noAlias(t *testing.T, file string) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range f.Imports {
		pkg, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(pkg, module) && i.Name != nil && i.Name.Name != "_" {
			t.Errorf("%s imports %s as %s", file, pkg, i.Name.Name)
		}
	}
}

// TestArchitectureNamesEveryPackage: docs/architecture.md names each package that the
// program is made of.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile("../../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.FieldsFunc(string(text), func(r rune) bool { return !unicode.IsLetter(r) })
	for _, pkg := range goList(t, "-deps", "-f", "{{if and .Module .Module.Main}}{{.ImportPath}}{{end}}", ".") {
		if pkg != "" && !slices.Contains(words, path.Base(pkg)) && pkg != strings.TrimSuffix(module, "/") {
			t.Errorf("docs/architecture.md does not name %s", pkg)
		}
	}
}
