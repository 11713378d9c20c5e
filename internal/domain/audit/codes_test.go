package audit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"opdeck/api/endpoint"
)

// TestEveryWriteHasANumber: a record of a write whose act has no number would read
// OP000I, and no two events may share one.
func TestEveryWriteHasANumber(t *testing.T) {
	shape := regexp.MustCompile(`^[1-9][0-9]{2}$`)
	for _, w := range endpoint.Writes() {
		k := w.Kind
		if !shape.MatchString(w.Write.Number) {
			t.Errorf("the act %s has no audit number: %q", k, w.Write.Number)
		}
	}
	of := map[string]string{}
	for _, w := range endpoint.Writes() {
		k := w.Kind
		if numbers[string(k)] != "" || of[w.Write.Number] != "" {
			t.Errorf("the number of %s stands twice", k)
		}
		of[w.Write.Number] = string(k)
	}
	for event, n := range numbers {
		if other, ok := of[n]; ok || !shape.MatchString(n) {
			t.Errorf("the number %q is that of %s and of %s", n, event, other)
		}
		of[n] = event
	}
}

// TestEveryEventHasANumber: each event that the program names where it notes it has a
// number as well.
func TestEveryEventHasANumber(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if event, ok := eventName(n); ok {
				if found++; numbers[event] == "" {
					t.Errorf("%s: the event %s has no audit number", name, event)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || found == 0 {
		t.Fatalf("%d events found, %v", found, err)
	}
}

// eventName is the name in api.Event{Name: "…"}.
func eventName(n ast.Node) (string, bool) {
	lit, ok := n.(*ast.CompositeLit)
	if !ok {
		return "", false
	}
	if typ, ok := lit.Type.(*ast.SelectorExpr); !ok || typ.Sel.Name != "Event" {
		return "", false
	}
	for _, e := range lit.Elts {
		field, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, _ := field.Key.(*ast.Ident)
		value, _ := field.Value.(*ast.BasicLit)
		if key != nil && key.Name == "Name" && value != nil {
			event, err := strconv.Unquote(value.Value)
			return event, err == nil
		}
	}
	return "", false
}
