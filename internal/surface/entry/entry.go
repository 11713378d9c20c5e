// Package entry connects the commands to the process: signals, streams and the terminal.
package entry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"opdeck/internal/app"
	"opdeck/internal/app/config"
	"opdeck/internal/surface/cli"
	"opdeck/internal/surface/console"
)

// Main runs with this process's arguments and streams and returns the exit code. A closed pipe is a write error and
// does not end the process, so that what is open gets closed.
func Main(build cli.Build) int {
	log.SetOutput(io.Discard) // net/http writes there what happens on idle connections, across a console
	_ = harden()              // a system that forbids it runs the program anyway
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return Run(ctx, build, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// Run is the program; tests call it with their own streams.
func Run(ctx context.Context, build cli.Build, args []string, in io.Reader, out, errs io.Writer) int {
	env := cli.Env{Args: args, In: in, Out: out, Err: errs, Getenv: os.Getenv,
		System: config.System{Config: "/etc/opdeck/config.toml", State: "/var/lib/opdeck"},
		InTTY:  isTerminal(in), OutTTY: isTerminal(out), ErrTTY: isTerminal(errs), OutWidth: width(out),
		Secret: hidden(ctx, in, errs), Build: build}
	if env.InTTY && env.OutTTY {
		env.Console = func(ctx context.Context, a *app.App, opt cli.ConsoleOptions) error {
			return console.Run(ctx, a, console.Options{Getenv: os.Getenv, NoColor: opt.NoColor, Notice: opt.Notice, Local: true})
		}
	}
	return cli.Run(ctx, env)
}

func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is the width of a terminal in cells; 0 if v is not one.
func width(v any) int {
	f, ok := v.(*os.File)
	if !ok {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}

// hidden reads a line from the terminal without echo. When ctx ends, it returns at once and restores the echo.
func hidden(ctx context.Context, in io.Reader, prompts io.Writer) func(string) (string, error) {
	f, ok := in.(*os.File)
	if !ok || !isTerminal(in) {
		return nil
	}
	return func(prompt string) (string, error) {
		before, err := term.GetState(int(f.Fd()))
		if err != nil {
			return "", err
		}
		typed, failed := make(chan []byte, 1), make(chan error, 1)
		go func() {
			if b, err := term.ReadPassword(int(f.Fd())); err != nil {
				failed <- err
			} else {
				typed <- b
			}
		}()
		awaitNoEcho(int(f.Fd()), *before)
		fmt.Fprint(prompts, prompt)
		defer fmt.Fprintln(prompts)
		select {
		case b := <-typed:
			return string(b), nil
		case err := <-failed:
			return "", err
		case <-ctx.Done():
			return "", errors.Join(ctx.Err(), term.Restore(int(f.Fd()), before))
		}
	}
}

// awaitNoEcho waits until the terminal's settings have changed: an answer typed at once must not be shown, and the
// echo must not be switched off after it was restored.
func awaitNoEcho(fd int, before term.State) {
	for range 200 {
		if now, err := term.GetState(fd); err != nil || *now != before {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
