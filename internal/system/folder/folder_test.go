//go:build unix

package folder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// tree makes files, folders (ending in a slash) and links ("name -> target").
func tree(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, n := range names {
		var err error
		switch name, to, link := strings.Cut(n, " -> "); {
		case link:
			err = os.Symlink(to, filepath.Join(dir, name))
		case strings.HasSuffix(n, "/"):
			err = os.MkdirAll(filepath.Join(dir, n), 0o700)
		default:
			err = os.WriteFile(filepath.Join(dir, n), []byte("%PDF-1.4 "+n), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestDropped: a file that is dropped on the terminal is found, and one whose name looks like that as well.
func TestDropped(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a b.txt", "it's.txt", `back\slash.txt`, "'quoted'", "Zażółć.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for typed, want := range map[string]string{
		dir + "/a b.txt": "a b.txt", "'" + dir + "/a b.txt' ": "a b.txt", `"` + dir + `/a b.txt"`: "a b.txt",
		dir + `/a\ b.txt`: "a b.txt", "file://" + dir + "/a%20b.txt": "a b.txt",
		"file://localhost" + dir + "/Za%C5%BC%C3%B3%C5%82%C4%87.txt": "Zażółć.txt",
		`'` + dir + `/it'\''s.txt'`:                                  "it's.txt", dir + `/it\'s.txt`: "it's.txt",
		dir + `/back\slash.txt`: `back\slash.txt`, dir + "/'quoted'": "'quoted'",
	} {
		if got := Expand(typed); got != filepath.Join(dir, want) {
			t.Errorf("%s is %s", typed, got)
		}
	}
	if got := Expand("file://elsewhere/a"); got != "file://elsewhere/a" {
		t.Errorf("a file of another host is %s", got)
	}
}

func TestComplete(t *testing.T) {
	dir := tree(t, "docs/", "deed.pdf", "deed-2.pdf", ".secret", "to -> docs", "gone -> nowhere", "odd\nname", "bad\xffname", "Überweisung.pdf", "Übersicht.pdf")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir)
	for typed, want := range map[string]struct {
		common string
		found  []string
	}{
		"~":            {"~/", []string{"~/docs/", "~/deed-2.pdf", "~/deed.pdf", "~/gone", "~/to/", "~/Übersicht.pdf", "~/Überweisung.pdf"}},
		"~/d":          {"~/d", []string{"~/docs/", "~/deed-2.pdf", "~/deed.pdf"}},
		"~/de":         {"~/deed", []string{"~/deed-2.pdf", "~/deed.pdf"}},
		"~/deed.":      {"~/deed.pdf", []string{"~/deed.pdf"}},
		"~/deed.pdf":   {"~/deed.pdf", []string{"~/deed.pdf"}},
		"~/do":         {"~/docs/", []string{"~/docs/"}},
		"~/docs/":      {"~/docs/", nil},
		"~/.":          {"~/.secret", []string{"~/.secret"}},
		"~/t":          {"~/to/", []string{"~/to/"}},
		"~/Ü":          {"~/Über", []string{"~/Übersicht.pdf", "~/Überweisung.pdf"}},
		"~/x":          {"~/x", nil},
		dir + "/deed-": {dir + "/deed-2.pdf", []string{dir + "/deed-2.pdf"}},
	} {
		got, err := Complete(t.Context(), typed)
		var found []string
		for _, n := range got.Found {
			found = append(found, n.Path)
		}
		slices.Sort(found)
		slices.Sort(want.found)
		if typed == "~" {
			want.common = got.Common // nothing is common to all of them
		}
		if err != nil || got.Common != want.common || !slices.Equal(found, want.found) || got.More {
			t.Errorf("%s: %q, %q, more %v, %v; want %q, %q", typed, got.Common, found, got.More, err, want.common, want.found)
		}
	}
	for typed, want := range map[string]string{
		"~/nowhere/":  "does not exist",
		"~/deed.pdf/": "does not exist: a part of the path",
	} {
		if _, err := Complete(t.Context(), typed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", typed, err)
		}
	}
	if got, err := Complete(t.Context(), "~/gone"); err != nil || !got.Found[0].Broken {
		t.Errorf("a broken link: %+v, %v", got, err)
	}
}

// TestAHugeFolder: what is kept is bounded, and an end of the context ends the reading.
func TestAHugeFolder(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 * chunk {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("page-%05d.pdf", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Complete(t.Context(), dir+"/p")
	if err != nil || len(got.Found) != most || !got.More || got.Found[0].Name != "page-00000.pdf" || got.Common != dir+"/page-0" {
		t.Errorf("%d names, more %v, common %s, %v", len(got.Found), got.More, got.Common, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := Complete(ctx, dir+"/p"); err != nil || !got.More || got.Common != dir+"/p" {
		t.Errorf("after the end: more %v, common %s, %v", got.More, got.Common, err)
	}
}

func TestLook(t *testing.T) {
	dir := tree(t, "docs/", "deed.pdf", "gone -> nowhere", "a -> b", "b -> a", "closed")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if size, begins, err := Look(filepath.Join(dir, "deed.pdf")); err != nil || size != 17 || !strings.HasPrefix(string(begins), "%PDF") {
		t.Errorf("%d %q %v", size, begins, err)
	}
	for name, want := range map[string]string{"docs": "is a folder", "gone": "does not exist", "none": "does not exist", "pipe": "not a regular file",
		"a": "lead in a circle", "deed.pdf/x": "not a folder", strings.Repeat("x", 300): "too long"} {
		if _, _, err := Look(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if os.Getuid() == 0 {
		return // everything may be read
	}
	if err := os.Chmod(filepath.Join(dir, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Look(filepath.Join(dir, "closed")); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Error(err)
	}
}
