package layering

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// searches are the functions that look for something in a text, by package.
var searches = map[string][]string{
	"strings": {"Contains", "ContainsAny", "ContainsFunc", "ContainsRune", "Cut", "CutPrefix", "CutSuffix", "EqualFold",
		"HasPrefix", "HasSuffix", "Index", "IndexByte", "LastIndex", "LastIndexByte", "TrimPrefix", "TrimSuffix"},
	"regexp": {"Match", "MatchString"},
}

// fromPeople are the members that hold what a person reads: of api.Error, and what is drawn.
var fromPeople = []string{"Public", "Hint", "Sentence", "Ask", "Risk", "Done", "Error", "View", "Lines"}

// untyped are the files that read what the standard library words and gives no type: an error
// of the TLS handshake, and JSON that is too deep.
var untyped = []string{"session/permanent.go", "reach/network.go", "hook/json.go"}

// TestNobodyReadsASentenceBack: what code must know of an error or of a screen is a field of
// a type. No code takes the styles off a drawn line but what draws, and none searches in the
// sentence of an error, in a question or in what a screen drew.
func TestNobodyReadsASentenceBack(t *testing.T) {
	for _, line := range goList(t, "-f", "{{$dir := .Dir}}{{$path := .ImportPath}}{{range .GoFiles}}{{$path}} {{$dir}}/{{.}}\n{{end}}", "./ui/...", "./views/...",
		"./internal/surface/...", "./internal/app/...", "./api/...") {
		pkg, file, ok := strings.Cut(line, " ")
		if !ok {
			continue
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		draws := under(pkg, "ui/draw", "ui/paint", "ui/uitest")
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			of, name := called(call)
			at := set.Position(call.Pos())
			switch {
			case of == "ansi" && name == "Strip" && !draws:
				t.Errorf("%s:%d takes the styles off a drawn line", rel(file), at.Line)
			case slices.Contains(searches[of], name) && !draws && !slices.Contains(untyped, rel(file)):
				for _, arg := range call.Args[:min(len(call.Args), 1)] {
					if what := readsBack(arg); what != "" {
						t.Errorf("%s:%d searches in %s", rel(file), at.Line, what)
					}
				}
			}
			return true
		})
	}
}

func rel(file string) string {
	return filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file))
}

// called is the package, or what a method is of, and the name of what is called.
func called(call *ast.CallExpr) (of, name string) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if id, ok := sel.X.(*ast.Ident); ok {
		of = id.Name
	}
	return of, sel.Sel.Name
}

// readsBack names the sentence or drawing that a text comes from; "" when it is none.
func readsBack(e ast.Expr) (what string) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if slices.Contains(fromPeople, n.Sel.Name) {
				what = n.Sel.Name
			}
		case *ast.CallExpr:
			if of, name := called(n); of == "draw" && name == "Unstyled" {
				what = "draw.Unstyled"
			}
		}
		return what == ""
	})
	return what
}
