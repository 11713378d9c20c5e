// Package cli is the command line: every act as a command, with the console's session, budgets, gate and audit,
// stable JSON and fixed exit codes.
package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opdeck/api"
	"opdeck/api/evidence"
	"opdeck/api/redact"
	"opdeck/api/secret"
	"opdeck/internal/act"
	"opdeck/internal/act/remedy"
	"opdeck/internal/app"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/mask"
	"opdeck/internal/format/shellwords"
	"opdeck/internal/store/files"
	"opdeck/internal/system/folder"
)

// Env is the environment of one run, so that tests and SSH exec can replace it.
type Env struct {
	Args   []string
	In     io.Reader
	Out    io.Writer
	Err    io.Writer
	Getenv func(string) string
	System config.System // zero: only the user's own config and state
	InTTY  bool          // questions are possible
	OutTTY bool          // a person reads it: tables may have colours
	ErrTTY bool          // a person reads the messages
	// OutWidth is the width of the terminal of Out at the start, in cells; 0: not a terminal.
	OutWidth int
	// Secret reads a line without echo; nil without a terminal.
	Secret func(prompt string) (string, error)
	// Console runs the full-screen console on an open App.
	Console func(ctx context.Context, a *app.App, opt ConsoleOptions) error
	// Actor is the person; zero: the local user.
	Actor api.Actor
	// App, if set, is used instead of opening one (SSH exec shares the server's).
	App *app.App
	// Version is release and commit; empty: Build's.
	Version string
	// Build is printed by `opdeck version`.
	Build Build
}

// ConsoleOptions are the command line's options for the console.
type ConsoleOptions struct {
	NoColor bool
	Notice  string // shown first; may be empty
}

// Run runs one command and returns its exit code.
func Run(ctx context.Context, env Env) int {
	if env.Version == "" {
		env.Version = env.Build.word()
	}
	r := &root{env: env}
	cmd := r.command()
	cmd.SetArgs(env.Args)
	cmd.SetIn(env.In)
	cmd.SetOut(env.Out)
	cmd.SetErr(env.Err)
	concluded := &evidence.Book{}
	err := cmd.ExecuteContext(evidence.In(ctx, concluded))
	if r.why {
		r.printWhy(concluded)
	}
	if err == nil {
		return 0
	}
	if errors.Is(err, syscall.EPIPE) { // the reader has ended (| head) and has what it wants
		return 0
	}
	var code exitError // a command's own code, even after an interrupt
	if ctx.Err() != nil && api.KindOf(err) != api.UnknownOutcome && !errors.As(err, &code) {
		err = &api.Error{Kind: api.Interrupted, Public: "Stopped.", Err: err}
	}
	err = r.asOwner(err)
	r.printError(err)
	return exitOf(err)
}

// asOwner replaces the error of a state that belongs to another user by one with the command to run as that user.
func (r *root) asOwner(err error) error {
	var foreign *files.UnsafePathError
	if !errors.As(err, &foreign) || foreign.Owner == "" {
		return err
	}
	words := []string{"sudo", "-u", foreign.Owner, "opdeck"}
	if at := r.found(); r.config == "" && at.Path != r.env.System.Config {
		words = append(words, "--config", at.Path)
	}
	if state := r.env.Getenv("OPDECK_STATE"); r.state == "" && state != "" {
		words = append(words, "--state", state)
	}
	words = append(words, r.env.Args...)
	for i, w := range words {
		words[i] = shellwords.Quote(w)
	}
	return &api.Error{Kind: api.Usage, Public: foreign.Path + " " + foreign.Reason + ".",
		Hint: "Run it as its owner: " + strings.Join(words, " "), Err: err}
}

// exitError is an exit code without a message (session status --check).
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

func exitOf(err error) int {
	var e exitError
	if errors.As(err, &e) {
		return int(e)
	}
	return asError(err).Kind.Exit()
}

// asError gives every error a kind: config mistakes and cobra's errors are usage errors, anything unknown is
// internal.
func asError(err error) *api.Error {
	var e *api.Error
	var m config.Mistakes
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &m):
		return &api.Error{Kind: api.BadConfig, Public: m.Error(), Hint: "Run opdeck config check to check the whole file.",
			Err: err}
	}
	return app.Concluded(err)
}

func (r *root) printError(err error) {
	var code exitError
	if errors.As(err, &code) {
		return
	}
	e := asError(err)
	if e.Hint == seeHelp && r.row != nil {
		named := *e
		named.Hint = "See opdeck " + r.row.Path() + " --help."
		e = &named
	}
	if r.output == "json" || r.output == "jsonl" {
		_ = r.encode(r.env.Err, failure{*errorOf(e)}, false) // there is nowhere left to report it
		return
	}
	r.tell("", "opdeck: "+safeText(e.Public))
	if hint := remedy.Command(e); hint != "" {
		r.tell("  ", safeText(hint))
	}
	if e.RequestID != "" {
		fmt.Fprintln(r.env.Err, "  request "+safeText(e.RequestID))
	}
	if r.verbose && e.Err != nil {
		fmt.Fprintln(r.env.Err, "  cause: "+safeText(redact.Said(e.Err.Error())))
	}
}

// keyless says in one line why nothing can be recorded here, and what to do, where nothing is refused.
func keyless(err error) string {
	e := asError(err)
	return oneLine(e.Public + " " + e.Hint)
}

// failure is an error for programs, on standard error.
type failure struct {
	Error errorJSON `json:"error"`
}

type errorJSON struct {
	Kind      api.Kind `json:"kind"`
	Message   string   `json:"message"`
	Hint      string   `json:"hint"`
	RequestID string   `json:"request_id"`
}

func errorOf(e *api.Error) *errorJSON {
	return &errorJSON{e.Kind, e.Public, remedy.Command(e), e.RequestID}
}

// root holds the flags of every command.
type root struct {
	env         Env
	config      string
	state       string
	context     string
	output      string
	readOnly    bool
	noColor     bool
	plain       bool
	still       bool
	logFile     string
	verbose     bool
	why         bool
	dryRun      bool
	newKey      bool     // audit checkpoint --new-key
	newStoreKey bool     // session reset --new-key
	reason      string   // of a write
	yes         bool     // of a write: do not ask
	reveal      bool     // print masked values
	row         *act.Act // of the running command
	args        []string // its arguments
	real        bool     // the context is a production one
	chosen      string   // the context; "": none yet
	least       act.Least

	zone *time.Location // of times that a person reads at a terminal; nil: the output is no terminal

	printed map[*cobra.Command][]printed // the JSON that commands print

	serveLog io.Writer // of opdeck serve: standard error has its log instead of notices; nil: none

	drawn  atomic.Bool // the console owns the screen
	served atomic.Bool // calls are made for a server
}

func (r *root) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "opdeck",
		Short: "A back-office console for payment operations, documents and verification",
		Long: "opdeck opens the console. Without a config file it opens on its built-in service, with sample data and no " +
			"network. Everything that the console does is also a command.",
		Args:          cobra.NoArgs,
		Example:       "  opdeck -c sandbox",
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return r.console(cmd.Context()) },
	}
	r.printed = map[*cobra.Command][]printed{}
	f := cmd.PersistentFlags()
	f.StringVar(&r.config, "config", "",
		"config file (default $OPDECK_CONFIG, ~/.config/opdeck/config.toml, /etc/opdeck/config.toml)")
	f.StringVar(&r.state, "state", "", "state folder (default $OPDECK_STATE, else ~/.local/state/opdeck)")
	f.StringVarP(&r.context, "context", "c", "", "context of the config file; sandbox is the built-in service")
	f.StringVarP(&r.output, "output", "o", "table", "table, json, jsonl or csv (jsonl and csv for lists)")
	f.BoolVar(&r.readOnly, "read-only", false, "refuse every write")
	f.BoolVar(&r.noColor, "no-color", false, "no colours (also NO_COLOR)")
	f.BoolVar(&r.plain, "plain", false, "plain mode: menus and sentences, no drawing")
	f.BoolVar(&r.still, "still", false, "the built-in service does not change by itself; its data has fixed dates")
	f.StringVar(&r.logFile, "log-file", "", "append a log to this file")
	f.BoolVar(&r.why, "why", false, "print the evidence for the conclusions on standard error: which read showed what, "+
		"and when")
	f.BoolVar(&r.verbose, "verbose", false, "log more, and show causes of errors")
	r.output = wanted(r.env.Args) // for errors before the flags are parsed
	cmd.SetFlagErrorFunc(flagError)
	cmd.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		return r.begin(cmd, args)
	}
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.Version = r.env.Version
	cmd.SetVersionTemplate("opdeck {{.Version}}\n")
	r.addCommands(cmd)
	if err := addCompletion(r, cmd); err != nil {
		panic("cli: completion of a flag that does not exist: " + err.Error())
	}
	cmd.SetHelpCommand(helpCommand())
	cmd.InitDefaultHelpCmd()
	describe(cmd)
	strict(cmd)
	cmd.SetHelpFunc(help)
	return cmd
}

// strict makes unknown and missing sub-commands usage errors; cobra would print help and exit 0.
func strict(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		strict(c)
	}
	if cmd.Args != nil {
		inner := cmd.Args
		cmd.Args = func(c *cobra.Command, args []string) error {
			if err := inner(c, args); err != nil {
				return argsError(c, args, err)
			}
			return nil
		}
	}
	if cmd.HasSubCommands() && cmd.Run == nil && cmd.RunE == nil {
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(c *cobra.Command, args []string) error {
			names := available(c)
			if len(args) > 0 {
				return unknown(c, fmt.Sprintf("%s has no command %q", path(c), args[0]), args[0], names)
			}
			return usageOf(c, "%s needs one of %s", path(c), strings.Join(names, ", "))
		}
	}
}

// argsError lists a command's arguments.
func argsError(c *cobra.Command, args []string, err error) error {
	takes := strings.TrimSpace(strings.TrimPrefix(c.Use, c.Name()))
	switch {
	case !c.HasParent() && len(args) > 0:
		return unknown(c, fmt.Sprintf("there is no command %q", args[0]), args[0], available(c))
	case len(c.ValidArgs) > 0 && len(args) == 1:
		return usageOf(c, "%s: %s", path(c), err)
	case takes == "" && c.Flags().Lookup("filter") != nil:
		return usageOf(c, "%s takes no arguments; a filter is --filter %s", path(c),
			shellwords.Quote(strings.Join(args, " ")))
	case takes == "":
		return usageOf(c, "%s takes no arguments", path(c))
	}
	least := len(strings.Fields(takes)) - strings.Count(takes, "[")
	if one, many := strings.CutSuffix(takes, "..."); many && len(args) == 0 {
		return usageOf(c, "%s needs at least one %s", path(c), one)
	}
	if len(args) < least {
		return usageOf(c, "%s needs %s", path(c), takes)
	}
	return usageOf(c, "%s takes only %s", path(c), takes)
}

// flagError names the flag that is probably meant.
func flagError(c *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) || missing.GetSpecifiedShortnames() != "" {
		return usageOf(c, "%s", err)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return unknown(c, err.Error(), "--"+missing.GetSpecifiedName(), names)
}

// path is the command as typed after "opdeck".
func path(c *cobra.Command) string {
	if !c.HasParent() {
		return c.Name()
	}
	return strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
}

// seeHelp is the hint of usage; printError puts the command in.
const seeHelp = "See opdeck COMMAND --help."

func usage(format string, args ...any) error {
	return &api.Error{Kind: api.Usage, Public: fmt.Sprintf(format, args...), Hint: seeHelp}
}

func (r *root) appOptions() app.Options {
	return app.Options{ConfigFlag: r.config, StateFlag: r.state, System: r.env.System, Context: r.context,
		Least: r.least, Chosen: r.choose, ReadOnly: r.readOnly,
		LogFile: r.logFile, ServeLog: r.serveLog, Verbose: r.verbose, Getenv: r.env.Getenv, Version: r.env.Version,
		Living:    !r.still,
		Upgrading: r.upgrading, Notice: r.notice, Waits: r.waits,
		NewAuditKey: r.newKey, NewStoreKey: r.newStoreKey}
}

// saysContext are the commands that name their context first, besides opdeck serve and the lines of monitors.
var saysContext = []string{"backup", "restore", "migrate", "audit verify"}

// choose notes the context. Some commands say it first, and those that need no config say when the built-in service
// stands in for a missing one.
func (r *root) choose(x config.Context, byName bool) {
	first := r.chosen == ""
	r.chosen, r.real = x.Name, x.Kind == config.Production
	if !first || r.output != "table" {
		return
	}
	service := x.BaseURL
	if x.Sandbox {
		service = "the built-in service"
	}
	switch {
	case r.serveLog != nil:
		fmt.Fprintf(r.env.Out, "context   %s: %s, state in %s\n", x.Name, service, r.found().State)
	case slices.Contains(saysContext, r.row.Path()):
		r.say("Context %s: %s, state in %s", x.Name, service, r.found().State)
	case !byName && act.Find(r.row.Name) != nil:
		r.say("No config: this is the built-in service with sample data. opdeck config init connects a real one.")
	}
}

// upgrading explains a delay to people, not to programs.
func (r *root) upgrading() {
	if r.output == "table" && r.serveLog == nil {
		fmt.Fprintln(r.env.Err, "Updating the store of an older opdeck. A large index takes some seconds.")
	}
}

// notice reports a problem of the store, unless the console owns the screen. With JSON output, standard error has
// only a JSON error.
func (r *root) notice(sentence string) {
	program := (r.output == "json" || r.output == "jsonl") && !r.env.InTTY
	if !r.drawn.Load() && !program && r.serveLog == nil {
		fmt.Fprintln(r.env.Err, sentence)
	}
}

// waits reports what a command waits for and, at a terminal, the progress of a body. A server's background calls wait
// regularly, so they are not reported.
func (r *root) waits(sentence string, moves bool) {
	if !r.served.Load() && (r.env.ErrTTY || !moves) {
		r.notice(sentence)
	}
}

// closed is the result of a command whose App failed to close. A completed act stays completed even if something
// could not be recorded: this is reported, and the exit code says done.
func (r *root) closed(closing, err error) error {
	if closing == nil || err != nil {
		return errors.Join(err, closing)
	}
	e := asError(closing)
	r.say("opdeck: Done, but opdeck could not record all of it: %s",
		strings.TrimSpace(e.Public+" "+remedy.Command(e)))
	return nil
}

// with opens the App for one command and closes it afterwards. It first refuses a person without the command's
// permission.
func (r *root) with(ctx context.Context, via string, fn func(ctx context.Context, a *app.App) error) (err error) {
	a := r.env.App
	if a == nil {
		if a, err = app.Open(ctx, r.appOptions()); err != nil {
			return err
		}
		defer func() { err = r.closed(a.Close(), err) }()
		if bad := keyMistakes(a.Config); len(bad) > 0 {
			return bad
		}
	}
	who := r.env.Actor
	if who.Name == "" {
		who = a.LocalActor(via)
	}
	r.chosen, r.real, r.zone = a.Context.Name, a.Context.Kind == config.Production, r.zoneOf(a)
	ctx = api.WithTrail(api.WithActor(ctx, who), a.Audit)
	if err := r.refused(ctx, a); err != nil {
		return err
	}
	if err := r.askable(); err != nil {
		return err
	}
	if err := a.Audit.Unrecorded(); err != nil && via == "command" {
		r.notice(keyless(err))
	}
	ctx, announced := r.announcements(ctx)
	defer func() { announced(err) }()
	return fn(ctx, a)
}

// announcements reports the service's announcements about calls, to people at once. For programs standard error has
// errors only, so they are reported at the end of a successful command.
func (r *root) announcements(ctx context.Context) (_ context.Context, end func(error)) {
	var mu sync.Mutex
	var late []string
	ctx = api.WithAnnouncements(ctx, func(op, said string) {
		line := api.Announcement(op, said)
		if r.output == "table" {
			r.say("%s", line)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		late = append(late, line)
	})
	return ctx, func(err error) {
		mu.Lock()
		defer mu.Unlock()
		for _, line := range late {
			if err == nil {
				r.say("%s", line)
			}
		}
	}
}

// do is with for a command's RunE.
func (r *root) do(fn func(ctx context.Context, a *app.App, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return r.with(cmd.Context(), "command", func(ctx context.Context, a *app.App) error {
			whole, err := wholeIDs(r, ctx, a, args)
			if err != nil {
				return err
			}
			if ctx, err = r.revealing(ctx, a, r.named(whole)...); err != nil {
				return err
			}
			return fn(ctx, a, whole)
		})
	}
}

// sayNextSteps tells a person who tried the built-in service what to do next.
func sayNextSteps(r *root, state string) {
	r.say("That was the built-in service; nothing left this machine. Its data stays in %s.\n"+
		"  opdeck config init   connects a real service\n"+
		"  opdeck --help        everything as a command\n"+
		"  opdeck doctor        checks each step in between", state)
}

// consent is what the writes of w carry. Where a second person approves them, now says what a yes to the question does:
// it sends what was approved, or it asks and sends nothing. Without a question (--yes) the gate decides.
func (r *root) consent(ctx context.Context, a *app.App, w asked) (c api.Consent, now string, err error) {
	c.Reason = r.reason
	kinds := r.row.Sends
	if r.row.Name == act.Restore.Name {
		kinds = []api.ActKind{api.ActAuditRestored}
	}
	if a.Gate.Approve == nil || r.row.Effect == act.Session || len(kinds) == 0 || r.yes || r.dryRun {
		return c, "", nil
	}
	q, found, err := a.Approvals.Usable(ctx, kinds, append([]string{w.object.ID, w.typed}, r.args...))
	if err != nil {
		return c, "", err
	}
	if found && (c.Reason == "" || c.Reason == q.Act.Reason) {
		c.Reason = q.Act.Reason
		return c, "Approved by " + q.Decider.Name + ". This sends it now.", nil
	}
	c.AskOnly = true
	return c, "A second person must approve this. Nothing is sent yet.", nil
}

// readLine reads a typed line and returns at once when ctx ends: ctrl+c does not wait for enter. Later input is
// discarded.
func readLine(ctx context.Context, in *bufio.Reader) (string, error) {
	type answer struct {
		line string
		err  error
	}
	typed := make(chan answer, 1)
	go func() {
		line, err := in.ReadString('\n')
		typed <- answer{line, err}
	}()
	select {
	case a := <-typed:
		return a.line, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// write runs fn; in a dry run it prints the acts that fn would have sent.
func (r *root) write(ctx context.Context, fn func(ctx context.Context) error) error {
	if !r.dryRun {
		return fn(ctx)
	}
	dry, acts := api.DryRun(ctx)
	if err := fn(dry); err != nil && !errors.Is(err, api.ErrDryRun) {
		return err
	}
	for _, a := range *acts {
		out := dryJSON{Method: &a.Method, Path: &a.Path}
		if a.Body != nil {
			out.Body = a.Body
		}
		if err := r.dry(out); err != nil {
			return err
		}
	}
	return nil
}

// dry prints a call that would be sent.
func (r *root) dry(call dryJSON) error { return r.encode(r.env.Out, call, r.output != "jsonl") }

// dryJSON is a call that would be sent; all fields are null if there is none.
type dryJSON struct {
	Body   any     `json:"body"`
	Method *string `json:"method"`
	Path   *string `json:"path"`
}

const maxSecretInput = 16 << 10

// readSecret reads a secret from a file, standard input or a hidden prompt, never from an argument.
func (r *root) readSecret(file, prompt string) (string, error) {
	switch {
	case file != "":
		b, err := os.ReadFile(folder.Expand(file))
		if err != nil {
			return "", &api.Error{Kind: api.Usage, Err: err,
				Public: "The file with the secret, " + oneLine(file) + ", " + folder.Reason(err)}
		}
		b = bytes.TrimPrefix(b, []byte("\ufeff"))
		return string(b[:min(len(b), maxSecretInput)]), nil
	case r.env.InTTY && r.env.Secret != nil:
		s, err := r.env.Secret(prompt)
		if errors.Is(err, context.Canceled) {
			return "", &api.Error{Kind: api.Interrupted, Public: "Stopped; nothing was sent.", Err: err}
		}
		return s, err
	}
	b, err := io.ReadAll(io.LimitReader(r.env.In, maxSecretInput))
	if err != nil {
		return "", &api.Error{Kind: api.Usage, Public: "The secret could not be read from standard input.", Err: err}
	}
	return string(b), nil
}

// shareToken reads and checks a share token.
func shareToken(r *root, file string) (secret.Value, error) {
	s, err := r.readSecret(file, "Share token (not shown): ")
	if err != nil {
		return secret.Value{}, err
	}
	return api.CheckShareToken(s)
}

// named are the ids that the running command's arguments name; a "-" is none, and its ids
// are revealed one by one (getMany). "" is a list.
func (r *root) named(args []string) (ids []string) {
	if len(r.row.Args) == 0 || r.row.Args[0].File {
		return []string{""}
	}
	for i, arg := range args {
		if arg != "-" && (i == 0 || r.row.Args[0].Many) {
			ids = append(ids, arg)
		}
	}
	return ids
}

// revealing is ctx in which the running command prints these objects unmasked if that was asked
// for: by --reveal, or by [ui] mask = false for a role that may. Each is recorded before.
func (r *root) revealing(ctx context.Context, a *app.App, ids ...string) (context.Context, error) {
	asked := r.reveal || !a.Config.UI.Mask && !mask.Barred(ctx) && a.Audit.Unrecorded() == nil
	if !r.row.Reveals || !asked {
		return ctx, nil
	}
	seen := ctx
	for _, id := range ids {
		var err error
		if seen, err = mask.Reveal(ctx, a.Audit, api.Event{Name: audit.EventReveal, Object: r.row.Object(), ID: id,
			Detail: "opdeck " + r.row.Path()}); err != nil {
			return ctx, err
		}
	}
	return seen, nil
}

// whyJSON is a conclusion for programs, with its line for people.
type whyJSON struct {
	evidence.Conclusion
	Line string `json:"line"`
}

// printWhy prints the conclusions with their evidence, in order.
func (r *root) printWhy(concluded *evidence.Book) {
	said := []whyJSON{}
	for _, c := range slices.Backward(concluded.About("")) {
		said = append(said, whyJSON{c, safeText(c.Line(time.Local))})
	}
	if r.output == "json" || r.output == "jsonl" {
		_ = r.encode(r.env.Err, map[string][]whyJSON{"why": said}, false) // there is nowhere left to report it
		return
	}
	for _, s := range said {
		fmt.Fprintln(r.env.Err, s.Line)
	}
	if len(said) == 0 {
		fmt.Fprintln(r.env.Err, "This command drew no conclusion, so there is no evidence to show.")
	}
}
