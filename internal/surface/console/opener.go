package console

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/app"
	"opdeck/internal/system/desktop"
)

// opener opens copies of documents on the person's desktop. The copies are removed when the console ends.
type opener struct {
	app     *app.App
	desktop desktop.Opener
	why     string // why nothing can be opened; empty: it can

	mu      sync.Mutex
	ended   bool
	copying sync.WaitGroup
	remove  []func() error // the copies
}

func newOpener(a *app.App, getenv func(string) string) *opener {
	o := &opener{app: a}
	o.desktop, o.why = desktop.Find(runtime.GOOS, getenv)
	return o
}

// begin registers that a copy is about to be made; false: the console has ended.
func (o *opener) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ended {
		o.copying.Add(1)
	}
	return !o.ended
}

// end removes the copies.
func (o *opener) end() {
	o.mu.Lock()
	o.ended = true
	o.mu.Unlock()
	o.copying.Wait()
	for _, remove := range o.remove {
		if err := remove(); err != nil { // on Windows a program may hold it; the next start removes it
			o.app.Log.Warn("a document's copy is left", "err", err)
		}
	}
}

// open makes a copy with this name, written by fill, and opens it with the desktop's program.
func (o *opener) open(ctx context.Context, name string, fill func(io.Writer) error) (path string, err error) {
	if !o.begin() {
		return "", context.Canceled
	}
	defer o.copying.Done()
	path, remove, err := app.HandOut(o.app.State, "document", fill)
	if err != nil {
		return "", err
	}
	if path, err = o.start(ctx, path, name); err != nil {
		return "", errors.Join(err, remove())
	}
	o.mu.Lock()
	o.remove = append(o.remove, remove)
	o.mu.Unlock()
	return path, nil
}

// start renames the copy and opens it with the desktop's program.
func (o *opener) start(ctx context.Context, path, name string) (string, error) {
	begins, err := beginning(path)
	if err != nil {
		return "", err
	}
	extension := desktop.Extension(name, begins)
	if extension == "" {
		return "", api.Refusal("open document", api.RuleFile, "%s",
			"opdeck does not open this file: it is not a PDF, picture, plain text or office document, "+
				"and a desktop could run it. Save it instead.")
	}
	stem := strings.TrimSuffix(name, filepath.Ext(name))
	named := filepath.Join(filepath.Dir(path), stem+extension)
	if err := os.Rename(path, named); err != nil {
		return "", err
	}
	if err := o.desktop.Start(ctx, named, o.app.ChildEnv()); err != nil {
		public := o.desktop.String() + " could not open it: " + untrusted.Text(err.Error()).Line(200) +
			". Save the document instead."
		return "", &api.Error{Op: "open document", Kind: api.Internal, Public: public, Err: err}
	}
	return named, nil
}

// beginning returns the first bytes of a file, enough to detect its kind.
func beginning(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 512))
}

// noOpener says why a person without a local terminal has no opener.
func noOpener(who api.Actor) string {
	if who.Via == "ssh" {
		return "Over SSH a program would open on the server, not at your screen."
	}
	return "This console opens no other programs."
}
