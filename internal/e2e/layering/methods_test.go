package layering

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"
)

// mostMethods is how many methods a type may have; embedded ones do not count.
const mostMethods = 40

// TestNoTypeKnowsEverything: a type with more methods than a reader keeps in mind is
// several types.
func TestNoTypeKnowsEverything(t *testing.T) {
	count := map[string]int{}
	format := "{{$dir := .Dir}}{{$path := .ImportPath}}{{range .GoFiles}}{{$path}} {{$dir}}/{{.}}\n{{end}}"
	for _, line := range goList(t, "-f", format, "./...") {
		pkg, file, ok := strings.Cut(line, " ")
		if !ok {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range tree.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil {
				count[path.Base(pkg)+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
	}
	for name, n := range count {
		if n > mostMethods {
			t.Errorf("%s has %d methods; at most %d", name, n, mostMethods)
		}
	}
}

// receiver is the name of the type that a method is of.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
