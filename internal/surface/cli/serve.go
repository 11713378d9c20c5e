package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/surface/serve"
	"opdeck/internal/surface/sshd"
)

// The server runs commands for other people, so it refers to all of them: as an
// element of groups it would be a cycle.
func init() { groups = append(groups, (*root).serveCommand) }

func (r *root) serveCommand() *cobra.Command {
	return &cobra.Command{Use: "serve", Short: "Serve the console over SSH, receive webhooks, keep the session, tell metrics", Args: cobra.NoArgs,
		Long: "Serves what the config asks for until it is interrupted (exit 0):\n\n" +
			"  [ssh] listen       the console, and the commands as ssh HOST operation get …\n" +
			"  [webhooks] listen  the receiver, which keeps the index fresh\n" +
			"  [serve] metrics    Prometheus\n\n" +
			"and keeps the session alive. Keys are read again when their files change (SIGHUP: at once).",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if r.env.App != nil {
				return usage("serve is a command of the server itself")
			}
			return r.with(cmd.Context(), "service", func(ctx context.Context, a *app.App) error {
				r.served.Store(true)
				return serve.Run(ctx, a, serve.Options{Out: r.env.Out, Getenv: r.env.Getenv, Exec: remote(r.env.Version, r.env.Build, r.env.Getenv)})
			})
		}}
}

// remote runs commands for people at the other end of an SSH connection: with
// the server's App, as the person in ctx, and only those that offered allows. Of the
// server's environment they see the secrets that the config names.
func remote(version string, build Build, getenv func(string) string) func(ctx context.Context, a *app.App, c sshd.Command) int {
	return func(ctx context.Context, a *app.App, c sshd.Command) int {
		args := c.Args
		if len(args) > 0 && args[0] == "opdeck" { // as it is typed on a host of one's own
			args = args[1:]
		}
		env := Env{Args: args, In: c.In, Out: c.Out, Err: c.Err, Getenv: a.SecretEnv(getenv, nil), App: a,
			Actor: api.ActorOf(ctx), Version: version, Build: build}
		r := &root{env: env, output: wanted(args)}
		if env.Actor.Name == "" { // the local user would stand in
			r.printError(&api.Error{Kind: api.Refused, Rule: api.RuleRole, Public: "Nobody is signed in."})
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

// anyone may run a command of these as far as their role goes; the gate and the
// commands themselves see to that.
var anyone = api.Roles

// keepers look after the server.
var keepers = []api.Role{api.OnCall, api.Admin}

// remoteCommands are the commands that are offered over SSH, and to whom. What
// is not here is not offered: commands that serve, listen, send to addresses of
// the caller's choice, or tell about the host.
var remoteCommands = map[string][]api.Role{
	"operation list": anyone, "operation get": anyone, "operation tree": anyone, "operation history": anyone, "operation export": anyone,
	"document list": anyone, "document remove": anyone, "document restore": anyone, "document attach": anyone, "document resume": anyone,
	"document download": anyone, "document upload": anyone, "document replace": anyone,
	"customer list": anyone, "customer get": anyone, "customer application": anyone, "customer files": anyone, "customer set-application": anyone,
	"compliance share": anyone, "compliance link": anyone, "compliance finalize": anyone, "compliance journey": anyone,
	"session status": anyone, "session refresh": anyone, "session login": anyone, "session reset": anyone, "limits": anyone,
	"event list": anyone, "event tail": anyone, "event show": anyone, "event codes": anyone, "event send": anyone,
	"hook get": anyone, "hook set": anyone,
	"audit list": anyone, "audit verify": anyone, "audit export": anyone, "audit prove": anyone, "audit unsettled": anyone, "audit settle": anyone, "audit key": anyone,
	"approval list": anyone, "approval show": anyone, "approval approve": anyone, "approval deny": anyone,
	"doctor": keepers, "version": anyone, "help": anyone,
}

// remoteFiles says which argument of a command names a file. Over SSH that would
// be one of the server's, so only - is taken: standard input or output.
var remoteFiles = map[string]int{
	"operation export": 0, "document upload": 0, "document replace": 2, "customer set-application": 1,
	"document download": 2, "event send": 0, "audit export": 0, "audit prove": 1,
}

// remoteGlobals and remoteFlags are the flags that may be given over SSH, those
// of every command and of one. All others are refused: they are about the
// server's files, its config, its other contexts, or addresses to send to.
var remoteGlobals = []string{"output", "no-color", "help"}

var remoteFlags = []string{"yes", "dry-run", "force", "reason", "name", "type", "info", "customer", "operation", "filter", "sort", "view",
	"cached", "live", "limit", "page", "last", "since", "until", "before", "from", "to", "status", "state", "object", "id", "event", "phase",
	"person", "note", "digest", "abandon", "qr", "check", "warn", "crit", "watch", "login", "enabled", "url", "new-secret", "operations",
	"customers", "accounts", "counterparties", "rejected", "waiting", "unassigned", "consistency"}

// offered says why a command line is not run over SSH.
func (r *root) offered(role api.Role) (path string, err error) {
	top := r.command()
	top.InitDefaultHelpCmd()
	cmd, rest, err := top.Find(r.env.Args)
	if err != nil {
		return "", usage("%s", err)
	}
	path = strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), top.Name()), " ")
	if cmd == top && len(rest) == 0 {
		return path, usage("there is no command; ssh -t HOST opens the console, ssh HOST help tells the commands")
	}
	cmd.InitDefaultHelpFlag()
	parse := cmd.ParseFlags(rest)
	if help, _ := cmd.Flags().GetBool("help"); help || errors.Is(parse, pflag.ErrHelp) {
		return path, nil
	}
	may, known := remoteCommands[path]
	group := cmd.HasSubCommands() && cmd != top // its own error tells what there is
	switch {
	case !known && !group:
		return path, notOffered("opdeck " + path + " is not offered over SSH.")
	case known && !slices.Contains(may, role):
		return path, &api.Error{Kind: api.Refused, Rule: api.RuleRole, Public: "Your role (" + string(role) + ") does not allow opdeck " + path + " over SSH.",
			Hint: "Roles that do: " + words(may) + "."}
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
			err = notOffered("--" + f.Name + " is not offered over SSH.")
		}
	})
	if err != nil {
		return path, err
	}
	return path, checkFiles(path, cmd.Flags().Args())
}

// checkFiles refuses arguments that name files of the server.
func checkFiles(path string, args []string) error {
	at, has := remoteFiles[path]
	if !has || at >= len(args) || args[at] == "-" {
		return nil
	}
	return notOffered("Over SSH the file can only be -: standard input or output. A name would be a file of the server.")
}

func notOffered(what string) error {
	return &api.Error{Kind: api.Refused, Rule: api.RuleRole, Public: what, Hint: "opdeck on a host of your own has it all."}
}

func words(roles []api.Role) string {
	var out []string
	for _, r := range roles {
		out = append(out, string(r))
	}
	return strings.Join(out, ", ")
}
