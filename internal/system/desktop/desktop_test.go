//go:build unix

package desktop

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func program(t *testing.T, name, body string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/bin:/usr/bin")
}

func TestFind(t *testing.T) {
	program(t, "xdg-open", "")
	for _, c := range []struct {
		system string
		env    map[string]string
		name   string
		why    string
	}{
		{"linux", map[string]string{"DISPLAY": ":0"}, "xdg-open", ""},
		{"freebsd", map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, "xdg-open", ""},
		{"linux", nil, "", "There is no desktop here"},
		{"linux", map[string]string{"DISPLAY": "localhost:10.0", "SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"}, "", "This is an SSH login"},
		{"darwin", map[string]string{"SSH_TTY": "/dev/ttys001"}, "", "This is an SSH login"},
		{"windows", nil, "", "rundll32 is not installed"},
	} {
		o, why := Find(c.system, func(name string) string { return c.env[name] })
		if !strings.Contains(why, c.why) || (why == "") != (c.why == "") || why == "" && o.String() != c.name {
			t.Errorf("%s %v: %v, %q", c.system, c.env, o, why)
		}
	}
}

// TestStart: the opener gets the path and the environment it was given, and no terminal; one that
// fails at once is an error, one that continues is not waited for.
func TestStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a b.pdf")
	desktop := func(string) string { return ":0" }
	ssh := func(name string) string { return map[string]string{"DISPLAY": ":0"}[name] }
	program(t, "xdg-open", `{ echo "$1"; echo "$GIVEN"; tty; ps -o tty= -p $$; } >"$1.reported"; exit 0`)
	if _, why := Find("linux", desktop); why == "" {
		t.Error("opened inside an SSH login")
	}
	o, why := Find("linux", ssh)
	if why != "" {
		t.Fatal(why)
	}
	if err := o.Start(t.Context(), file, []string{"GIVEN=this", "PATH=/bin:/usr/bin"}); err != nil {
		t.Fatal(err)
	}
	reported, err := os.ReadFile(file + ".reported")
	if lines := strings.Split(string(reported), "\n"); err != nil || len(lines) < 4 || lines[0] != file || lines[1] != "this" || lines[2] != "not a tty" || lines[3] != "?" {
		t.Errorf("%q, %v", reported, err)
	}
	program(t, "xdg-open", "exit 3")
	o, _ = Find("linux", ssh)
	if exit := new(exec.ExitError); !errors.As(o.Start(t.Context(), file, nil), &exit) || exit.ExitCode() != 3 {
		t.Errorf("%v", exit)
	}
	program(t, "xdg-open", "exec sleep 20")
	o, _ = Find("linux", ssh)
	if began := time.Now(); o.Start(t.Context(), file, []string{"PATH=/bin:/usr/bin"}) != nil || time.Since(began) > 10*time.Second {
		t.Error("it was waited for")
	}
}

// TestExtension: what a desktop could run is not opened, whatever its name says.
func TestExtension(t *testing.T) {
	pdf, zip, png := "%PDF-1.4\n", "PK\x03\x04rest", "\x89PNG\r\n\x1a\n"
	for _, c := range []struct{ name, begins, want string }{
		{"invoice.pdf", pdf, ".pdf"}, {"invoice", pdf, ".pdf"}, {"invoice.exe", pdf, ".pdf"}, {"Scan.JPEG", "\xff\xd8\xff\xe0", ".jpg"}, {"a.png", png, ".png"},
		{"a.DOCX", zip, ".docx"}, {"a.zip", zip, ""}, {"a.jar", zip, ""}, {"note.txt", "text", ".txt"}, {"note.sh", "text", ""}, {"a.desktop", "[Desktop Entry]\n", ""},
		{"invoice.pdf", "MZ\x90\x00", ""}, {"invoice.pdf", "\x7fELF", ""}, {"a.html", "<html>", ""}, {"a.txt", "<html>", ""}, {"a.svg", "<?xml version=\"1.0\"?><svg/>", ""},
		{"a.pdf", "", ""}, {"", "", ""},
	} {
		if got := Extension(c.name, []byte(c.begins)); got != c.want {
			t.Errorf("%q that begins %q: %q, want %q", c.name, c.begins, got, c.want)
		}
	}
}
