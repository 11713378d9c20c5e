package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const root = "../../.."

// TestEveryFaultHasItsPlace: the text that a fault replaces is still there once, the result is Go, and the package that
// is to find it has tests.
func TestEveryFaultHasItsPlace(t *testing.T) {
	all := faults()
	if len(all) < 40 {
		t.Errorf("%d faults", len(all))
	}
	seen := map[string]bool{}
	for _, f := range all {
		if seen[f.Name] || !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`).MatchString(f.Name) || !strings.HasSuffix(f.Breaks, ".") {
			t.Errorf("%q: %q", f.Name, f.Breaks)
		}
		seen[f.Name] = true
		if tests, err := filepath.Glob(filepath.Join(root, f.In, "*_test.go")); err != nil || len(tests) == 0 {
			t.Errorf("%s: %s has no tests (%v)", f.Name, f.In, err)
		}
	}
	if err := checkPlaces(root, all); err != nil {
		t.Error(err)
	}
}

// TestDocumentHasEveryFault: the table of docs/faults.md has the faults in order, each with its rule.
func TestDocumentHasEveryFault(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "faults.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows, want []string
	for line := range strings.SplitSeq(string(page), "\n") {
		if cells := strings.Split(line, " | "); len(cells) == 5 && strings.Contains(cells[2], "/") {
			rows = append(rows, strings.Join(cells[:3], " | "))
		}
	}
	for _, f := range faults() {
		want = append(want, "| "+f.Name+" | "+f.Breaks+" | `"+f.File+"`")
	}
	if got, want := strings.Join(rows, "\n"), strings.Join(want, "\n"); got != want {
		t.Errorf("docs/faults.md has\n%s\nbut the faults are\n%s\nrun: go run ./internal/tools/faults -table", got, want)
	}
}

func TestApply(t *testing.T) {
	const src = "package p\n\nvar a, b = 1 < 2, 1 < 3\n"
	for _, c := range []struct {
		old, new, want string
		err            error // nil: any, if want is empty
	}{
		{"1 < 2", "1 <= 2", "package p\n\nvar a, b = 1 <= 2, 1 < 3\n", nil},
		{"1 < 4", "1 <= 4", "", errPlace},
		{"1 <", "1 <=", "", errPlace},
		{"", "x", "", errPlace},
		{"1 < 2", "1 < 2", "", errNotNew},
		{"1 < 2", "1 < ", "", nil},
	} {
		got, err := Fault{Name: "a-fault", File: "p.go", Old: c.old, New: c.new}.apply([]byte(src))
		if string(got) != c.want || (err == nil) != (c.want != "") || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%q to %q: %q, %v", c.old, c.new, got, err)
		}
	}
}

// TestReadEvents: the first test that failed is the one that found the fault.
func TestReadEvents(t *testing.T) {
	const passes = `{"Action":"run","Test":"TestA"}` + "\n" + `{"Action":"pass","Test":"TestA"}` + "\n" + `{"Action":"pass"}`
	for _, c := range []struct{ name, in, by, says string }{
		{name: "all pass", in: passes},
		{name: "a part fails first", by: "TestA/b", in: `{"Action":"fail","Package":"p","Test":"TestA/b"}` + "\n" +
			`{"Action":"fail","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"p"}`},
		{name: "no test, but the package fails", by: "package p", in: passes + "\n" + `{"Action":"fail","Package":"p"}`},
		{name: "a line of the program is no event", by: "TestA", in: "panic: x\n" + `{"Action":"fail","Test":"TestA"}`},
		{name: "not compiled", says: "a.go:1:1: no", in: `{"Action":"build-output","Output":"# p\n"}` + "\n" +
			`{"Action":"build-output","Output":"a.go:1:1: no\n"}` + "\n" + `{"Action":"build-fail"}` + "\n" +
			`{"Action":"fail","Package":"p","FailedBuild":"p"}`},
	} {
		got := readEvents(strings.NewReader(c.in), func() time.Duration { return time.Second })
		want := passed
		switch {
		case c.says != "":
			want = uncompiled
		case c.by != "":
			want = failed
		}
		if got.state != want || want == failed && got.by() != c.by || got.says != c.says || got.took != time.Second {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestPattern: a part of a test is selected with its parents, whatever its name holds.
func TestPattern(t *testing.T) {
	for test, want := range map[string]string{"": "", "TestA": "^TestA$", "TestA/b_(c)/d.e": `^TestA$/^b_\(c\)$/^d\.e$`} {
		if got := pattern(test); got != want {
			t.Errorf("%q is selected by %q, want %q", test, got, want)
		}
	}
}

// TestChoose: by parts of the names.
func TestChoose(t *testing.T) {
	all := []Fault{{Name: "one-a"}, {Name: "two-a"}, {Name: "two-b"}}
	for only, want := range map[string]string{"": "one-a two-a two-b", "two": "two-a two-b", "one,b": "one-a two-b", "x": ""} {
		var names []string
		for _, f := range choose(all, only) {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q chooses %q, want %q", only, got, want)
		}
	}
}

// TestCopyCheckout: tracked and new files as they are now; none that git ignores.
func TestCopyCheckout(t *testing.T) {
	from, to := newCheckout(t), t.TempDir()
	for range 2 { // also over an older copy
		if err := copyCheckout(t.Context(), from, to); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(to, "a", "tracked.go")); err != nil || string(b) != "package changed\n" {
			t.Errorf("%q, %v", b, err)
		}
		if _, err := os.Stat(filepath.Join(to, "new.go")); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(to, "ignored.txt")); err == nil {
			t.Error("an ignored file was copied")
		}
		if err := os.WriteFile(filepath.Join(to, "a", "tracked.go"), []byte("package faulty\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// newCheckout is a repository with a tracked file that has changed, a new file and an ignored one.
func newCheckout(t *testing.T) string {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("a/tracked.go", "package tracked\n")
	write(".gitignore", "*.txt\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}} {
		git := exec.CommandContext(t.Context(), "git", args...)
		git.Dir = dir
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	write("a/tracked.go", "package changed\n")
	write("new.go", "package p\n")
	write("ignored.txt", "x")
	return dir
}
