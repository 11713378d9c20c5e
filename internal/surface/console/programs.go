package console

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/app"
	"opdeck/internal/app/config"
	"opdeck/ui/paint"
)

// programs hands the terminal of a local console to other programs, without a shell.
type programs struct {
	app           *app.App
	asks          chan tea.Cmd // read by the console
	pager, editor program

	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
}

// program is a program with its first arguments, or why there is none.
type program struct {
	words []string
	path  string
	why   string
}

func newPrograms(a *app.App, getenv func(string) string) *programs {
	p := &programs{app: a, asks: make(chan tea.Cmd)}
	words := strings.Fields(getenv("PAGER"))
	if len(words) == 0 || filepath.Base(words[0]) == "cat" { // which would be gone at once
		words = []string{"less"}
	}
	if p.pager = find(words, "Set $PAGER to the pager of your choice, or install less."); filepath.Base(words[0]) == "less" {
		p.pager.words = words[:1] // its flags could let control characters through, or end it at once
	}
	if words = strings.Fields(cmp.Or(getenv("VISUAL"), getenv("EDITOR"))); len(words) == 0 {
		p.editor.why = "No editor is named: set $VISUAL or $EDITOR before the console is started."
	} else {
		p.editor = find(words, "Set $VISUAL or $EDITOR to an editor of this host.")
	}
	return p
}

// find looks for a program.
func find(words []string, otherwise string) program {
	path, err := exec.LookPath(words[0])
	if err != nil {
		return program{why: "The program " + untrusted.Text(words[0]).Line(100) + " is not found. " + otherwise}
	}
	return program{words: words, path: path}
}

func (p program) String() string { return strings.Join(p.words, " ") }

// Pager implements ui.Programs.
func (p *programs) Pager() (name, why string) { return p.pager.String(), p.pager.why }

// Editor implements ui.Programs.
func (p *programs) Editor() (name, why string) { return p.editor.String(), p.editor.why }

// Folder implements ui.Programs.
func (p *programs) Folder() string { return p.app.HandOutFolder() }

// Page implements ui.Programs. less can start nothing and keeps no history.
func (p *programs) Page(ctx context.Context, text string) error {
	return p.run(ctx, p.pager, strings.NewReader(text))
}

// Edit implements ui.Programs.
func (p *programs) Edit(ctx context.Context, name, text string) error {
	return p.withFile(ctx, p.editor, name, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}

// withFile runs a program on a temporary file, which it gets in the place of the word for
// it, or as its last argument.
func (p *programs) withFile(ctx context.Context, with program, name string, fill func(io.Writer) error) (err error) {
	if !p.begin() {
		return context.Canceled
	}
	defer p.running.Done()
	path, remove, err := p.app.HandOut(name, fill)
	if err != nil {
		return err
	}
	defer func() {
		if left := remove(); left != nil {
			err = &api.Error{Kind: api.Internal, Public: "The temporary file is not removed: " + untrusted.Text(path).Line(300) + ".", Err: left}
		}
	}()
	words, named := make([]string, len(with.words)), false
	for i, w := range with.words {
		named = named || strings.Contains(w, config.FileWord)
		words[i] = strings.ReplaceAll(w, config.FileWord, path)
	}
	if with.words = words; !named {
		with.words = append(words, path)
	}
	return p.run(ctx, with, nil)
}

// run hands the terminal to a program until that has ended. in is its input; nil: the
// terminal.
func (p *programs) run(ctx context.Context, with program, in io.Reader) error {
	if err := ctx.Err(); err != nil { // the console is being left
		return err
	}
	cmd := &exec.Cmd{Path: with.path, Args: with.words, Stdin: in,
		Env: append(p.app.ChildEnv("LESS", "LESSOPEN", "LESSCLOSE"), "LESSSECURE=1", "LESSHISTFILE=-")}
	ended := make(chan error, 1)
	select {
	case p.asks <- paint.Lend(cmd, func(err error) tea.Msg { ended <- err; return nil }):
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-ended:
		return notRun(filepath.Base(with.words[0]), err)
	case <-ctx.Done(): // the program was ended with the console
		return ctx.Err()
	}
}

// notRun words how a program ended that did not end well.
func notRun(name string, err error) error {
	if err == nil {
		return nil
	}
	var path *fs.PathError
	said := name + " was not started: "
	switch exit := new(paint.ExitError); {
	case errors.As(err, &exit):
		said = name + " " + exit.Error()
	case errors.As(err, &path):
		said += path.Err.Error()
	default:
		said += err.Error()
	}
	return &api.Error{Op: "run " + name, Kind: api.Internal, Public: untrusted.Text(said).Line(300) + ".", Err: err}
}

// begin notes that a file is about to be made; false: the console has ended.
func (p *programs) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.running.Add(1)
	}
	return !p.ended
}

// end waits until no file is left; the contexts that were given have ended.
func (p *programs) end() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.running.Wait()
}

// noPrograms says why nothing is handed to other programs.
func noPrograms(who api.Actor) string {
	if who.Via == "ssh" {
		return "Over SSH another program would run on the server, not at your terminal."
	}
	return "Only the full-screen console hands its terminal to another program; plain mode does not."
}

// Viewer names the program that documents are handed to.
func (d *backend) Viewer() (name, folder, why string) {
	switch v := d.Config.UI.Viewer; {
	case d.programs == nil:
		return "", "", d.noPrograms
	case len(v) == 0:
		return "", "", `No viewer is configured: set viewer in [ui] of the config, for example viewer = ["zathura", "{file}"].`
	default:
		return strings.Join(v, " "), d.HandOutFolder(), ""
	}
}

// ViewDocument hands a customer's document to the configured viewer, in a temporary file.
func (d *backend) ViewDocument(ctx context.Context, cuid, id, name string) error {
	if _, _, why := d.Viewer(); why != "" {
		return api.Refusal("view document", api.RuleFile, "%s", why)
	}
	viewer := find(d.Config.UI.Viewer, "Name another in [ui] viewer of the config.")
	if viewer.why != "" {
		return api.Refusal("view document", api.RuleFile, "%s", viewer.why)
	}
	return d.programs.withFile(ctx, viewer, name, func(w io.Writer) error {
		_, err := d.Client.DownloadDocument(ctx, cuid, id, w)
		return err
	})
}
