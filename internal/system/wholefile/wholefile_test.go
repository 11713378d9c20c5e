package wholefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// holds fails t when the folder has anything but these files, or one of them another
// content or mode.
func holds(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(want) {
		t.Fatalf("%v, %v; want %v", entries, err, want)
	}
	for name, content := range want {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(b) != content {
			t.Errorf("%s holds %q, %v; want %q", name, b, err, content)
		}
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || runtime.GOOS != "windows" && st.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
}

func TestCreateNeverOverwrites(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := Create(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, []byte("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another file: %v", err)
	}
	holds(t, dir, map[string]string{"a": "one"})
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for _, content := range []string{"one", "", "three"} {
		if err := Replace(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		holds(t, dir, map[string]string{"a": content})
	}
}

// TestNameIsTakenByAFolder: what cannot get its name leaves nothing behind.
func TestNameIsTakenByAFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"create": Create(path, []byte("x")), "replace": Replace(path, []byte("x"))} {
		if err == nil {
			t.Errorf("%s over a folder", what)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestMissingFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "a")
	for what, err := range map[string]error{"create": Create(path, nil), "replace": Replace(path, nil)} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestInPieces: a file has its name when it is whole and not before, and one that comes
// meanwhile stays as it is, unless the file was to take its place.
func TestInPieces(t *testing.T) {
	no := errors.New("no more")
	for name, c := range map[string]struct {
		before, meanwhile string // of that name; "": none
		begin             func(string) (*File, error)
		how               error // writing goes
		want              error
		holds             string // in the end; "": no file
	}{
		"new":                    {begin: New, holds: "content"},
		"new, failed":            {begin: New, how: no, want: no},
		"new, one comes":         {begin: New, meanwhile: "theirs", want: fs.ErrExist, holds: "theirs"},
		"new, failed, one comes": {begin: New, meanwhile: "theirs", how: no, want: no, holds: "theirs"},
		"over none":              {begin: Over, holds: "content"},
		"over one":               {begin: Over, before: "old", holds: "content"},
		"over one, failed":       {begin: Over, before: "old", how: no, want: no, holds: "old"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a")
		put := func(content string) {
			if content != "" {
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		put(c.before)
		f, err := c.begin(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("content"); err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(path); string(b) != c.before {
			t.Errorf("%s: before its end there is %q", name, b)
		}
		put(c.meanwhile)
		if err := f.Finish(c.how); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		want := map[string]string{}
		if c.holds != "" {
			want["a"] = c.holds
		}
		holds(t, dir, want)
	}
}

// TestWriteNeverOverwrites: nothing is written for a name that is taken.
func TestWriteNeverOverwrites(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	times := 0
	for _, want := range []error{nil, fs.ErrExist} {
		err := Write(path, func(w io.Writer) error {
			times++
			_, err := io.WriteString(w, "one")
			return err
		})
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if holds(t, dir, map[string]string{"a": "one"}); times != 1 {
		t.Errorf("written %d times", times)
	}
}

// TestNoLinks: where a file system has no links the name is still refused when it is
// taken, by many at once too.
func TestNoLinks(t *testing.T) {
	none := func(string, string) error { return &os.LinkError{Op: "link", Err: errors.ErrUnsupported} }
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	var done atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			tmp := filepath.Join(dir, fmt.Sprint("tmp", i))
			if err := os.WriteFile(tmp, []byte("content"), 0o600); err != nil {
				t.Error(err)
			}
			switch err := put(none, tmp, path); {
			case err == nil:
				done.Add(1)
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
			_ = os.Remove(tmp)
		})
	}
	wg.Wait()
	if holds(t, dir, map[string]string{"a": "content"}); done.Load() != 1 {
		t.Errorf("%d took the name", done.Load())
	}
	if err := put(none, filepath.Join(dir, "missing"), filepath.Join(dir, "b")); err == nil {
		t.Error("a file that is not there got a name")
	}
	holds(t, dir, map[string]string{"a": "content"})
}

// TestNameIsText: a name that a terminal would obey when it is listed is refused.
func TestNameIsText(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a\x1b[2J.csv", "a\nb", "a\u009b2J"} {
		if err := Create(filepath.Join(dir, name), []byte("x")); !errors.Is(err, errName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}
