package layering

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"opdeck/api/pattern"
	_ "opdeck/internal/surface/entry" // with all packages of the program
)

// TestPatternsCompile compiles what a program compiles only when it is needed.
func TestPatternsCompile(t *testing.T) {
	all := pattern.All()
	if len(all) < 40 {
		t.Errorf("%d patterns are known, there are more in the sources", len(all))
	}
	for _, p := range all {
		if _, err := regexp.Compile(p.String()); err != nil {
			t.Error(err)
		}
	}
}

// TestNoPatternAtStart: no variable of a package of the program is a compiled regular expression.
func TestNoPatternAtStart(t *testing.T) {
	format := "{{$dir := .Dir}}{{range .GoFiles}}{{$dir}}/{{.}}\n{{end}}"
	own := goList(t, "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")
	var ours []string
	for _, pkg := range own {
		if strings.HasPrefix(pkg, "opdeck") {
			ours = append(ours, pkg)
		}
	}
	for _, file := range goList(t, append([]string{"-f", format}, ours...)...) {
		if file == "" {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range tree.Decls {
			if vars, ok := decl.(*ast.GenDecl); ok && vars.Tok == token.VAR {
				ast.Inspect(vars, func(n ast.Node) bool {
					if call, ok := n.(*ast.CallExpr); ok {
						if of, name := called(call); of == "regexp" && name == "MustCompile" {
							t.Errorf("%s compiles a pattern at each start; use api/pattern", rel(file))
						}
					}
					_, inside := n.(*ast.FuncLit)
					return !inside
				})
			}
		}
	}
}
