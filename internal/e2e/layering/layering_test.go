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

func under(pkg string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return pkg == module+f || strings.HasPrefix(pkg, module+f+"/") })
}

// TestOnlySurfacesReachScreens: under internal and api only the surfaces, the tools
// and the tests of the whole program depend on Bubble Tea or on our screens, directly
// or through other packages.
func TestOnlySurfacesReachScreens(t *testing.T) {
	for _, line := range goList(t, "-f", "{{.ImportPath}} {{join .Deps \" \"}}", "./internal/...", "./api/...") {
		pkg, deps, _ := strings.Cut(line, " ")
		if under(pkg, "internal/surface", "internal/tools", "internal/e2e") {
			continue
		}
		for dep := range strings.FieldsSeq(deps) {
			if under(dep, "ui", "views") || strings.Contains(dep, "charmbracelet/bubbletea") {
				t.Errorf("%s depends on %s", pkg, dep)
			}
		}
	}
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
