// Package desktop opens a file with the desktop's default program for it.
package desktop

import (
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Opener is the desktop's own opener: xdg-open, open of macOS, or the protocol handler of Windows.
type Opener struct {
	words []string // the program and its first arguments; the file is appended
}

// Find searches PATH for the opener of a system (runtime.GOOS); why says why there is none. An SSH login has none:
// the file would open on the other computer's screen.
func Find(system string, env func(string) string) (o Opener, why string) {
	if env("SSH_CONNECTION") != "" || env("SSH_TTY") != "" {
		return o, "This is an SSH login, and a program would open on the screen of the other computer."
	}
	switch system {
	case "windows":
		o.words = []string{"rundll32", "url.dll,FileProtocolHandler"}
	case "darwin":
		o.words = []string{"open"}
	default:
		if env("DISPLAY") == "" && env("WAYLAND_DISPLAY") == "" {
			return o, "There is no desktop here: neither DISPLAY nor WAYLAND_DISPLAY is set."
		}
		o.words = []string{"xdg-open"}
	}
	path, err := exec.LookPath(o.words[0])
	if err != nil {
		return Opener{}, "The program " + o.words[0] + " is not installed."
	}
	o.words[0] = path
	return o, ""
}

// String is the name of the opener.
func (o Opener) String() string { return filepath.Base(o.words[0]) }

// startWait is how long an opener may take to say that it failed.
const startWait = 2 * time.Second

// Start opens the file at an absolute path. The opener has no terminal, gets the environment env, and keeps running
// on its own. The error is that of starting it, or an *exec.ExitError if it fails within two seconds.
func (o Opener) Start(ctx context.Context, path string, env []string) error {
	cmd := exec.Command(o.words[0], append(slices.Clone(o.words[1:]), path)...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = env, filepath.Dir(path), detached()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t := time.NewTimer(startWait)
	defer t.Stop()
	select {
	case err := <-ended:
		return err
	case <-t.C:
	case <-ctx.Done():
	}
	return nil
}

// office are the extensions of documents in the zip format.
var office = []string{".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp"}

// Extension is the extension for a file that begins with begins, by which a desktop chooses a program that only shows
// it. It is empty for anything that a desktop could run: the bytes decide, not the name.
func Extension(name string, begins []byte) string {
	own := strings.ToLower(filepath.Ext(name))
	kind, _, _ := strings.Cut(http.DetectContentType(begins), ";")
	switch kind {
	case "application/pdf":
		return ".pdf"
	case "image/jpeg":
		return ".jpg"
	case "image/png", "image/gif", "image/webp", "image/bmp":
		return "." + strings.TrimPrefix(kind, "image/")
	case "application/zip":
		if slices.Contains(office, own) {
			return own
		}
	case "text/plain":
		if own == ".txt" {
			return own
		}
	}
	return ""
}
