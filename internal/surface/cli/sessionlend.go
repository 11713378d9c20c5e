package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/lending"
	"opdeck/internal/surface/lendproxy"
)

func sessionProxyCommand(r *root) *cobra.Command {
	var socket, addr string
	var reveal bool
	cmd := &cobra.Command{Use: "proxy", Long: "Answers the service's own paths for scripts, until it is interrupted " +
		"(exit 0). A script sends its\n" +
		"calls without a token: opdeck adds it, holds the calls to the budgets, and sends a write only\n" +
		"where the borrower's role, the guards and the second person allow it.\n\n" +
		"On the socket, which is this user's alone, the user is the borrower. On the port a key names one:\n" +
		"[lend.borrowers.NAME] of the config. Without flags it uses the places of [lend].",
		RunE: r.do(func(ctx context.Context, a *app.App, _ []string) error {
			return lendUntilInterrupted(r, ctx, a, lendproxy.Options{Socket: socket, Listen: addr, Reveal: reveal})
		})}
	cmd.Flags().StringVar(&socket, "socket", "", "path of a Unix socket (default [lend] socket)")
	cmd.Flags().StringVar(&addr, "addr", "", "loopback address (default [lend] listen)")
	cmd.Flags().BoolVar(&reveal, "reveal", false, "do not mask the answers on the socket; the audit trail records each "+
		"one")
	return cmd
}

func lendUntilInterrupted(r *root, ctx context.Context, a *app.App, opt lendproxy.Options) error {
	if opt.Socket == "" && opt.Listen == "" {
		opt.Socket, opt.Listen = a.Config.Lend.Socket, a.Config.Lend.Listen
	}
	if opt.Socket == "" && opt.Listen == "" {
		return usage("no socket or address to lend the session on; use --socket or --addr, or set [lend] in the config")
	}
	var err error
	if opt.Keys, err = a.BorrowerKeys(r.env.Getenv); err != nil {
		return err
	}
	if opt.Listen != "" && opt.Keys.Len() == 0 {
		return &api.Error{Kind: api.BadConfig, Public: "A port needs keys that identify the callers, and the config has " +
			"no [lend.borrowers.NAME].",
			Hint: "Add a borrower, or use --socket, where the user is the borrower."}
	}
	l, err := lendproxy.Open(ctx, a, opt)
	if err != nil {
		return err
	}
	for _, line := range l.Lines() {
		r.say("%s", line)
	}
	r.served.Store(true)
	return l.Serve(ctx)
}

func sessionExecCommand(r *root) *cobra.Command {
	var as string
	cmd := &cobra.Command{Use: "exec", Long: "Starts a command that may use the session, and exits with its exit code " +
		"(128 plus the\n" +
		"signal's number: a signal ended it).\n\n" +
		"The command finds in its environment OPDECK_PROXY_URL, where the service's paths are answered,\n" +
		"and OPDECK_PROXY_KEY, which it sends as the header X-Opdeck-Key (or as its bearer token). The key\n" +
		"ends with the command. Passwords and secrets that the config names are not in its environment.",
		Args: cobra.MinimumNArgs(1),
		RunE: r.do(func(ctx context.Context, a *app.App, args []string) error { return lendTo(r, ctx, a, as, args) })}
	cmd.Flags().StringVar(&as, "as", "", "role and bounds of this borrower of the config (default: your own role, in "+
		"the background)")
	cmd.Flags().SetInterspersed(false) // flags after the command belong to the command
	return cmd
}

// The environment of a command that borrows the session.
const (
	proxyURL = "OPDECK_PROXY_URL"
	proxyKey = "OPDECK_PROXY_KEY"
)

// lendTo runs a command with a temporary key.
func lendTo(r *root, ctx context.Context, a *app.App, as string, args []string) error {
	b, err := a.LocalBorrower(as, filepath.Base(args[0]))
	if err != nil {
		return err
	}
	if b.Reveal {
		if err := api.Need(api.WithActor(ctx, b.Who), "reveal", api.MayReveal); err != nil {
			return err
		}
	}
	key, keys := lending.NewKey(), lending.NewKeys(a.Context.Role)
	if err := keys.Add(key, b); err != nil {
		return err
	}
	l, err := lendproxy.Open(ctx, a, lendproxy.Options{Listen: "127.0.0.1:0", Keys: keys})
	if err != nil {
		return err
	}
	// An interrupt is for the command; lending continues until it has ended.
	lending, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(lending) }()
	r.served.Store(true)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r.env.In, r.env.Out, r.env.Err
	cmd.Env = append(a.ChildEnv(proxyURL, proxyKey),
		proxyURL+"=http://"+l.Addr(), proxyKey+"="+key.Reveal())
	err = runPassingSignals(r, cmd)
	stop()
	if lendErr := <-ended; lendErr != nil { // the exit code stays the command's
		a.Log.Warn("lending did not end in order", "err", lendErr)
	}
	return err
}

// runPassingSignals runs cmd, forwards signals to it, and returns its exit code as an error; nil for 0.
func runPassingSignals(r *root, cmd *exec.Cmd) error {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, passedOn()...)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return &api.Error{Kind: api.Usage, Public: "The command " + cmd.Path + " cannot be started: " + reasonOfStart(err) +
			".", Err: err}
	}
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				if !fromTerminal(s, r.env.InTTY) {
					_ = cmd.Process.Signal(s) // it may have just ended
				}
			case <-done:
				return
			}
		}
	}()
	err := cmd.Wait()
	close(done)
	var ended *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ended):
		return exitError(codeOf(ended.ProcessState))
	}
	return &api.Error{Kind: api.Internal, Public: "The command ran, but its input or output could not be passed on: " +
		err.Error() + ".", Err: err}
}

func reasonOfStart(err error) string {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err.Error()
}
