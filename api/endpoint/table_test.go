package endpoint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"opdeck/api"
	"opdeck/api/endpoint"
)

var parameter = regexp.MustCompile(`\{\w+\}`)

// TestContractIsTheTable: openapi.yaml and the declared calls have the same endpoints.
func TestContractIsTheTable(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromFile("../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var documented, declared []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			documented = append(documented, method+" "+parameter.ReplaceAllString(path, "{}"))
		}
	}
	for _, r := range endpoint.All() {
		if line := r.Method + " " + r.Template(); r.Method != "" && !r.Foreign && !slices.Contains(declared, line) {
			declared = append(declared, line)
		}
	}
	slices.Sort(documented)
	slices.Sort(declared)
	if !slices.Equal(documented, declared) {
		t.Errorf("documented\n%s\ndeclared\n%s", strings.Join(documented, "\n"), strings.Join(declared, "\n"))
	}
}

// TestEveryDeclarationIsInTheTable: a call that All does not list is tried by no test.
func TestEveryDeclarationIsInTheTable(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, is := n.(*ast.CompositeLit)
			if !is {
				return true
			}
			if name, is := lit.Type.(*ast.Ident); is && name.Name == "Route" {
				for _, e := range lit.Elts {
					if kv, is := e.(*ast.KeyValueExpr); is && kv.Key.(*ast.Ident).Name == "Path" {
						declared++
					}
				}
			}
			return true
		})
	}
	const helpers = 2 // requests that name a path again: the forms of one customer, the content of a file
	listed := len(slices.DeleteFunc(endpoint.All(), func(r *endpoint.Route) bool { return r.Path == "" }))
	if declared-helpers != listed {
		t.Errorf("%d calls are declared, and the table lists %d", declared-helpers, listed)
	}
}

// TestEveryRouteIsWhole: what each call needs is said, kinds and numbers are of one call
// each, and no path hides another.
func TestEveryRouteIsWhole(t *testing.T) {
	kinds, numbers := map[api.ActKind]bool{}, map[string]bool{}
	for i, r := range endpoint.All() {
		switch {
		case kinds[r.Kind]:
			t.Errorf("%s is declared twice", r.Kind)
		case r.Op == "" || r.Need == "" || r.Path != "" && (r.Method == "" || r.Class == ""):
			t.Errorf("%s is not whole: %+v", r.Kind, r)
		case r.Write != nil && (r.Write.Number == "" || numbers[r.Write.Number] || r.Writes() && r.Write.Doing == ""):
			t.Errorf("%s: %+v", r.Kind, r.Write)
		case r.Class != "" && endpoint.ClassOf(r.Path) != r.Class:
			t.Errorf("%s: class %s, and its path is of %s", r.Kind, r.Class, endpoint.ClassOf(r.Path))
		}
		kinds[r.Kind] = true
		if r.Write != nil {
			numbers[r.Write.Number] = true
		}
		got, _, _ := endpoint.Match(r.Method, parameter.ReplaceAllString(r.Path, "x1"))
		if r.Path != "" && (got == nil || got.Template() != r.Template()) {
			t.Errorf("%s (%d) is hidden by another call", r.Kind, i)
		}
	}
}

// TestQueryNames: a name that is not declared is refused, and one that reveals to a role
// that may not.
func TestQueryNames(t *testing.T) {
	as := func(role api.Role) func(path, name string) *api.Error {
		return func(path, name string) *api.Error {
			r, _, _ := endpoint.Match("GET", path)
			return r.Asks(api.WithActor(t.Context(), api.Actor{Name: "p", Role: role}), map[string][]string{name: {"1"}}, api.Paging{})
		}
	}
	for _, c := range []struct {
		path, name      string
		viewer, analyst bool
	}{
		{"/v2/billing/operation", "clientCuid", true, true},
		{"/v2/billing/operation", "account", false, true},
		{"/v2/billing/operation", "meta.page", true, true},
		{"/v2/billing/operation", "other", false, false},
		{"/v2/counterparty/account", "number", false, true},
		{"/v2/account/x1", "meta.page", false, false},
	} {
		if got := as(api.Viewer)(c.path, c.name) == nil; got != c.viewer {
			t.Errorf("%s?%s for a viewer: %t", c.path, c.name, got)
		}
		if got := as(api.Analyst)(c.path, c.name) == nil; got != c.analyst {
			t.Errorf("%s?%s for an analyst: %t", c.path, c.name, got)
		}
	}
}

// TestOnlyDeclaredCallsAreSent: no other package makes requests, writes or rules for the gate.
func TestOnlyDeclaredCallsAreSent(t *testing.T) {
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "../.." && (d.Name() == "endpoint" || d.Name() == "testdata" || d.Name() == ".git"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, is := n.(*ast.SelectorExpr); is && slices.Contains([]string{"Request", "Write", "WriteRule", "New"},
				s.Sel.Name) {
				if x, is := s.X.(*ast.Ident); is && x.Name == "api" {
					t.Errorf("%s names api.%s: only package endpoint sends", path, s.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
