package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/sandbox"
	"opdeck/internal/store"
	"opdeck/internal/store/files"
	"opdeck/internal/surface/server"
	"opdeck/internal/surface/sshserver"
)

// The server runs all commands for other people: as an element of makers it would be an initialisation cycle.
func init() { makers[act.Serve] = serveCommand }

func serveCommand(r *root) *cobra.Command {
	return &cobra.Command{Long: "Runs the servers of the config until interrupted (exit 0):\n\n" +
		"  [ssh] listen       the console, and the commands as ssh HOST operation get …\n" +
		"  [webhooks] listen  the receiver, which keeps the index fresh\n" +
		"  [lend]             the session for scripts\n" +
		"  [serve] metrics    Prometheus\n" +
		"  [notify]           notices\n\n" +
		"and keeps the session alive. Keys are read again when their files change (SIGHUP: at once). The log goes to " +
		"standard error ([serve] log_format, log_level).",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if r.env.App != nil {
				return usage("serve is a command of the server itself")
			}
			r.serveLog = r.env.Err
			return whenRoom(cmd.Context(), func(wait string) { r.say("%s", wait) }, func() error {
				return r.with(cmd.Context(), "service", func(ctx context.Context, a *app.App) error {
					r.served.Store(true)
					return server.Run(ctx, a, server.Options{Out: r.env.Out, Getenv: r.env.Getenv,
						Exec: remote(r.env.Version, r.env.Build, r.env.Getenv)})
				})
			})
		}}
}

// roomEvery is how often a server retries after the disk was full.
const roomEvery = 10 * time.Second

// whenRoom runs serve and repeats it while it ends because the disk is full; it calls say with the first such error.
func whenRoom(ctx context.Context, say func(string), serve func() error) error {
	for reported := false; ; reported = true {
		err := serve()
		var full *store.Error
		noRoom := errors.As(err, &full) && full.Kind == store.Full || files.NoRoom(err)
		if !noRoom || ctx.Err() != nil {
			return err
		}
		if !reported {
			say(asError(err).Public + " opdeck serve tries again every " + roomEvery.String() + ".")
		}
		if limit.Sleep(ctx, roomEvery) != nil {
			return err
		}
	}
}

// remote runs commands for people over SSH: with the server's App, as the person in ctx, and only those that offered
// allows. Of the server's environment they only get the configured secrets.
func remote(version string, build Build, getenv func(string) string) func(ctx context.Context, a *app.App,
	c sshserver.Command) int {
	return func(ctx context.Context, a *app.App, c sshserver.Command) int {
		args := c.Args
		if len(args) > 0 && args[0] == "opdeck" { // as typed on one's own host
			args = args[1:]
		}
		env := Env{Args: args, In: c.In, Out: c.Out, Err: c.Err, Getenv: a.SecretEnv(getenv, nil), App: a,
			OutTTY: c.Terminal, OutWidth: c.Width, Actor: api.ActorOf(ctx), Version: version, Build: build}
		r := &root{env: env, output: wanted(args)}
		if env.Actor.Name == "" { // else it would be the local user
			r.printError(&api.Error{Kind: api.Refused, Rule: api.RuleRole, Public: "You are not logged in as a person."})
			return api.Refused.Exit()
		}
		path, err := r.offered(env.Actor.Role)
		if err == nil {
			return Run(ctx, env)
		}
		r.printError(err)
		if api.KindOf(err) == api.Refused {
			note := api.Event{Name: "denied", Object: "command", ID: path, Detail: "over ssh"}
			if err := a.Audit.Note(ctx, env.Actor, note); err != nil {
				a.Log.Error("audit", "err", err)
			}
		}
		return exitOf(err)
	}
}

// remoteGlobals and remoteFlags are the flags allowed over SSH, for every command and for one. All others are
// refused: they concern the server's files, its config, its other contexts, or addresses to send to.
var remoteGlobals = []string{"output", "no-color", "help", "why"}

var remoteFlags = []string{"yes", "dry-run", "force", "reason", "name", "type", "info", "customer", "operation",
	"filter", "sort", "view", "by", "cached", "live", "limit", "page", "until", "before", "from", "to", "status", "object",
	"id", "event", "phase", "person", "note", "text", "digest", "abandon", "again", "upload-again", "use", "qr", "check",
	"all", "warn", "crit", "watch", "follow", "settle", "login", "enabled", "url", "new-secret", "operations",
	"reveal", "customers", "accounts", "counterparties", "customer-name", "currency", "balance", "associate", "rejected",
	"waiting", "no-bom"}

// offered returns an error if a command line is not allowed over SSH.
func (r *root) offered(role api.Role) (path string, err error) {
	top := r.command()
	top.InitDefaultHelpCmd()
	cmd, rest, err := top.Find(r.env.Args)
	if err != nil {
		return "", usage("%s", err)
	}
	path = strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), top.Name()), " ")
	if cmd == top && len(rest) == 0 {
		return path, usage("a command is required; ssh -t HOST opens the console, ssh HOST help lists the commands")
	}
	cmd.InitDefaultHelpFlag()
	parse := cmd.ParseFlags(rest)
	if help, _ := cmd.Flags().GetBool("help"); help || errors.Is(parse, pflag.ErrHelp) {
		return path, nil
	}
	row := act.Find(path)
	known := row != nil && row.Without[act.Command] == "" && row.Without[act.Remote] == "" || path == "help"
	group := cmd.HasSubCommands() && cmd != top // its own error lists the commands
	switch {
	case cmd == top && parse != nil:
		return path, usage("%s", parse)
	case cmd == top && top.Flags().NArg() > 0:
		return path, argsError(top, top.Flags().Args(), nil)
	case !known && !group:
		return path, notOffered("opdeck " + path + " is not offered over SSH.")
	case row != nil && known && !row.Offered(role):
		return path, &api.Error{Kind: api.Refused, Rule: api.RuleRole,
			Public: "Your role (" + string(role) + ") does not allow opdeck " + path + " over SSH.",
			Hint:   "Roles that may: " + act.RoleNames(row.Roles) + "."}
	case parse != nil:
		return path, usage("%s", parse)
	}
	own := cmd.LocalNonPersistentFlags()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		allowed := remoteGlobals
		if own.Lookup(f.Name) == f {
			allowed = slices.Concat(allowed, remoteFlags)
		}
		if !slices.Contains(allowed, f.Name) {
			err = notOffered("--" + f.Name + " is not offered over SSH: it is about the server's own files, config or " +
				"addresses.")
		}
	})
	if err != nil {
		return path, err
	}
	if row == nil {
		return path, nil
	}
	return path, checkFiles(row, cmd.Flags().Args())
}

// checkFiles returns an error for arguments that name files of the server.
func checkFiles(row *act.Act, args []string) error {
	for i, a := range row.Args {
		given := args[min(i, len(args)):]
		if !a.Many {
			given = given[:min(1, len(given))]
		}
		if a.File && slices.ContainsFunc(given, func(name string) bool { return name != "-" }) {
			return notOffered("Over SSH the file must be - (standard input or output). A name would mean a file on the server.")
		}
	}
	return nil
}

func notOffered(what string) error {
	return &api.Error{Kind: api.Refused, Rule: api.RuleRole, Public: what,
		Hint: "Run opdeck on your own host to use all commands."}
}

func sandboxCommand(r *root) *cobra.Command {
	opt := sandbox.Options{Fresh: true}
	addr := ""
	cmd := &cobra.Command{Long: "Serves the built-in service until it is interrupted. It prints its address, its " +
		"login, share tokens and a config that is ready to be used. Without --data everything is in memory.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opt.Operations < 0 || opt.AccessTTL < 0 || opt.RefreshTTL < 0 {
				return usage("numbers and lifetimes must not be negative")
			}
			s, err := sandbox.Open(cmd.Context(), opt)
			if err != nil {
				return &api.Error{Kind: api.Unavailable, Public: "The built-in service cannot be opened: " + err.Error(), Err: err}
			}
			if err = s.Serve(cmd.Context(), addr, r.env.Out); err != nil {
				err = &api.Error{Kind: api.Unavailable, Public: "The built-in service cannot be served: " + err.Error(),
					Hint: "Another --addr may be free; 127.0.0.1:0 takes any port.", Err: err}
			}
			return errors.Join(err, s.Close())
		}}
	f := cmd.Flags()
	f.StringVar(&addr, "addr", "127.0.0.1:8787", "address to listen on")
	f.StringVar(&opt.Path, "data", "", "file that keeps the data; empty: memory")
	f.IntVar(&opt.Operations, "operations", 0, "sample operations of a new file (default 500)")
	f.DurationVar(&opt.AccessTTL, "access-ttl", 0, "lifetime of access tokens (default 5m)")
	f.DurationVar(&opt.RefreshTTL, "refresh-ttl", 0, "lifetime of refresh tokens (default 15m)")
	f.StringVar(&opt.HookURL, "hook-url", "", "send webhooks to this address")
	f.BoolVar(&opt.HardLimits, "hard-limits", false, "answer 429 above the recommended rates")
	return cmd
}
