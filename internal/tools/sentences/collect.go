package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// sentence is one string in the code that users can read.
type sentence struct {
	file string
	line int
	text string
}

// collect reads the shipping Go files below dirs, by path.
func collect(dirs []string) ([]sentence, error) {
	var out []sentence
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && skipped(path):
				return filepath.SkipDir
			case d.IsDir(), filepath.Ext(path) != ".go", strings.HasSuffix(path, "_test.go"):
				return nil
			}
			found, err := ofFile(path)
			out = append(out, found...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// skipped reports whether a folder has no strings for users: tools, tests and their helpers.
func skipped(dir string) bool {
	base := filepath.Base(dir)
	return base == "testdata" || base == "tools" || base == "e2e" || strings.HasSuffix(base, "test")
}

// ofFile lists the sentences of one file.
func ofFile(path string) ([]sentence, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		return nil, err
	}
	var out []sentence
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.Field: // a field's only string is its tag
			_, isField := n.(*ast.Field)
			return isField && n.(*ast.Field).Tag == nil
		case *ast.CallExpr:
			return !forProgrammers(n)
		case *ast.BinaryExpr, *ast.BasicLit:
			if text, ok := joined(n.(ast.Expr)); ok {
				if prose(text) {
					out = append(out, sentence{path, set.Position(n.Pos()).Line, strings.Join(strings.Fields(text), " ")})
				}
				return false
			}
		}
		return true
	})
	return out, nil
}

// forProgrammers reports whether a call's strings are read by programmers: logs, panics and patterns.
func forProgrammers(call *ast.CallExpr) bool {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name == "panic"
	case *ast.SelectorExpr:
		switch f.Sel.Name {
		case "Info", "Warn", "Debug", "MustCompile", "Exec", "Query", "QueryRow", "Prepare":
			return true
		}
	}
	return false
}

// joined is the text of a string literal, or of literals joined by +.
func joined(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, ok := joined(e.X)
		right, ok2 := joined(e.Y)
		return left + right, ok && ok2
	}
	return "", false
}

var (
	words = regexp.MustCompile(`(?i)[a-z]{2,}['’,;:]? [a-z]+`)
	query = regexp.MustCompile(
		`\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|PRAGMA|WHERE|ORDER BY|VALUES|BEGIN|JOIN|UNION|EXISTS)\b`)
)

// prose reports whether a text has two adjacent words and is not a query.
func prose(text string) bool { return words.MatchString(text) && !query.MatchString(text) }
