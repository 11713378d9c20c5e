// Command opdeck is a terminal back-office console over one payments and
// compliance service. This file is wiring only.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/term"

	"opdeck/internal/app"
	"opdeck/internal/cli"
	"opdeck/internal/console"
	"opdeck/internal/harden"
)

func main() { os.Exit(program()) }

// program runs with this process's arguments and streams and returns the exit
// code. A closed pipe is an error of the write, not the end of the process, so
// that what is open gets closed.
func program() int {
	_ = harden.Process() // a system that forbids it runs the program all the same
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// run is the program; tests call it with their own world.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	env := cli.Env{Args: args, In: in, Out: out, Err: errs, Getenv: os.Getenv,
		InTTY: isTerminal(in), OutTTY: isTerminal(out), Secret: hidden(ctx, in, errs), Build: build()}
	if env.InTTY && env.OutTTY {
		env.Console = func(ctx context.Context, a *app.App, opt cli.ConsoleOptions) error {
			return console.Run(ctx, a, console.Options{Getenv: os.Getenv, NoColor: opt.NoColor, Local: true})
		}
	}
	return cli.Run(ctx, env)
}

func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// hidden reads a line from the terminal without echo. When ctx ends it returns at
// once, with the echo as it was.
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
		quiet(int(f.Fd()), *before)
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

// quiet waits until the terminal is no longer as it was: who answers at once must
// not see the answer, nor may the echo go off after it was put back.
func quiet(fd int, before term.State) {
	for range 200 {
		if now, err := term.GetState(fd); err != nil || *now != before {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// release, commit, builtAt (RFC 3339) and releaseKey (the public key of releases)
// are set when a release is built; without them the commit is the one that the go
// command found.
var release, commit, builtAt, releaseKey = "dev", "", "", ""

// build tells what this program was built from.
func build() cli.Build {
	b := cli.Build{Release: release, Commit: commit, Built: builtAt, Key: releaseKey}
	if info, ok := debug.ReadBuildInfo(); ok && commit == "" {
		b.Commit = revision(info.Settings)
	}
	return b
}

// revision is the commit in the build's settings, with ".dirty" behind it when
// there was more than was committed; empty when they do not tell.
func revision(settings []debug.BuildSetting) string {
	rev, dirty := "", ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ".dirty"
		}
	}
	if rev == "" {
		return ""
	}
	return rev + dirty
}
