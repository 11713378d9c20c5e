package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// plainer lists words that a native speaker would not use in a back office, with what to say instead
// (docs/contributing.md).
var plainer = []struct{ pattern, instead string }{
	{`\b(told|tells|telling|untold)\b`, "reported, shown, known, says"},
	{`\b(hear|hears|heard)\b`, "received"},
	{`\b(forgive|forgives|forgiven)\b`, "cleared"},
	{`\bstands?\b`, "is"},
	{`\bwhoever\b|\bwhomever\b`, "name the person: the caller, a colleague"},
	{`\bnobody\b`, "no one, or turn the sentence round"},
	{`\bcannot be had\b|\bis to be had\b`, "is not available"},
	{`\b[Tt]his is no\b`, "not a"},
	{`\bdied early\b|\bpremature [a-z]`, "revoked"},
	{`\b[Mm]end\b`, "fix"},
	{`\b[Ss]omebody\b`, "another process, another client"},
	{`\blooks (again|now)\b|\blooked for\b`, "check, find"},
	{`\bhit before\b|\bfilters before\b`, "previous match, history"},
}

// maxTerms keeps the glossary short enough to be read.
const maxTerms = 30

// glossary returns the words that docs/glossary.md rules out, as more rows of plainer.
func glossary(t *testing.T) []struct{ pattern, instead string } {
	t.Helper()
	text, err := os.ReadFile("../../../docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| ([a-z][^|]*) \| [^|]+ \| [^|]+ \|([^|]*)\|$`).FindAllStringSubmatch(string(text), -1)
	out, terms := plainer[:len(plainer):len(plainer)], map[string]bool{}
	for _, row := range rows {
		if terms[row[1]] {
			t.Errorf("the glossary explains %q twice", row[1])
		}
		terms[row[1]] = true
		for _, word := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1) {
			out = append(out, struct{ pattern, instead string }{`(?i)\b` + regexp.QuoteMeta(word[1]) + `\b`, row[1]})
		}
	}
	if lines := strings.Count(string(text), "\n| ") - 1; len(rows) != lines || lines > maxTerms {
		t.Errorf("%d rows of the glossary, %d with four columns, want at most %d", lines, len(rows), maxTerms)
	}
	if len(out) < len(plainer)+len(rows)/2 {
		t.Errorf("the glossary rules out only %d words", len(out)-len(plainer))
	}
	return out
}

// clean are the parts of the program that were read.
var clean = []string{"main.go", "api", "internal", "ui", "views"}

// TestPlainWords reads every sentence of clean for words of plainer and of the glossary.
func TestPlainWords(t *testing.T) {
	var dirs []string
	for _, dir := range clean {
		dirs = append(dirs, filepath.Join("../../..", dir))
	}
	list, err := collect(dirs)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 1000 {
		t.Fatalf("%d sentences found: the walk misses most of the program", len(list))
	}
	for _, p := range glossary(t) {
		re := regexp.MustCompile(p.pattern)
		for _, s := range list {
			if re.MatchString(s.text) {
				t.Errorf("%s:%d: %q: say %s", s.file, s.line, s.text, p.instead)
			}
		}
	}
}

// TestCollect tries what counts as a sentence.
func TestCollect(t *testing.T) {
	dir := t.TempDir()
	const code = "package p\nimport \"opdeck/api two\"\ntype T struct{ A int `json:\"a b\"` }\n" +
		"var a = \"Not a valid id.\"\nvar b = \"One sentence \" +\n\t\"in two parts.\"\n" +
		"var c = \"key\"\nvar d = \"SELECT id FROM rows\"\nfunc f() { panic(\"for us alone\"); g(\"Shown to people.\") }\n"
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a_test.go"), []byte("package p\nvar x = \"of a test\"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	list, err := collect([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range list {
		got = append(got, s.text)
	}
	want := []string{"Not a valid id.", "One sentence in two parts.", "Shown to people."}
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}
