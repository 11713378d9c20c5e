package server_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheSecurityModelNamesItsTests: a test that the document names is there.
func TestTheSecurityModelNamesItsTests(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, m := range regexp.MustCompile(
		"`((?:internal|ui|api)/[a-z0-9/]+)`\\s+((?:(?:Test|Fuzz)\\w+(?:,\\s+)?)+)").FindAllStringSubmatch(string(text), -1) {
		files, err := filepath.Glob(filepath.Join(root, m[1], "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no tests, %v", m[1], err)
		}
		code := ""
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			code += string(b)
		}
		for _, name := range regexp.MustCompile(`\w+`).FindAllString(m[2], -1) {
			if named++; !strings.Contains(code, "func "+name+"(") {
				t.Errorf("%s has no %s", m[1], name)
			}
		}
	}
	if named < 50 {
		t.Errorf("only %d tests are named", named)
	}
}
