package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"

	"opdeck/internal/app"
	"opdeck/internal/surface/console"
)

// console runs the console, and again for each context that the person switches to. If one cannot be opened, it
// returns to the previous one.
func (r *root) console(ctx context.Context) error {
	if !r.plain && r.env.Console == nil {
		return usage("the console needs a terminal; use --plain without one, or see opdeck --help for the commands")
	}
	before, switched, notice, in := "", false, "", lineByLine{bufio.NewReader(r.env.In)}
	for {
		opened, err := r.consoleOn(ctx, in, notice)
		var next *console.SwitchContext
		switch {
		case errors.As(err, &next):
			before, switched, notice, r.context = r.context, true, "", next.Name
		case err != nil && !opened && switched:
			notice = "Context " + safeText(r.context) + " cannot be opened. " + asError(err).Public
			switched, r.context = false, before
		default:
			return err
		}
	}
}

// consoleOn runs the console on the current context; it shows notice first.
func (r *root) consoleOn(ctx context.Context, in io.Reader, notice string) (opened bool, err error) {
	err = r.with(ctx, "console", func(ctx context.Context, a *app.App) error {
		opened = true
		if err := a.Audit.Unrecorded(); err != nil && notice == "" {
			notice = keyless(err)
		}
		if r.plain {
			return console.RunPlain(ctx, a, console.PlainOptions{In: in, Out: r.env.Out, Width: r.env.OutWidth,
				Getenv: r.env.Getenv, Secret: r.env.Secret, Notice: notice})
		}
		r.drawn.Store(true)
		defer r.drawn.Store(false)
		err := r.env.Console(ctx, a, ConsoleOptions{NoColor: r.noColor || os.Getenv("NO_COLOR") != "", Notice: notice})
		if err == nil && a.Config.Path == "" && a.Context.Sandbox {
			sayNextSteps(r, a.State)
		}
		return err
	})
	return opened, err
}

// lineByLine returns at most one line per Read, so that the console of one context does not consume input for the
// next.
type lineByLine struct{ r *bufio.Reader }

func (l lineByLine) Read(p []byte) (int, error) {
	for n := range p {
		b, err := l.r.ReadByte()
		if err != nil {
			return n, err
		}
		p[n] = b
		if b == '\n' || l.r.Buffered() == 0 {
			return n + 1, nil
		}
	}
	return len(p), nil
}
