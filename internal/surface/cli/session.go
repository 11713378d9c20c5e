package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/lending"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/internal/surface/lendproxy"
)

func sessionStatusCommand(r *root) *cobra.Command {
	var check, watch bool
	var warn, crit time.Duration
	cmd := &cobra.Command{Long: "Shows the session that all opdeck processes share. It costs no call to the service. " +
		"cause and evidence say what went wrong; a resolved cause says when it ended.\n\n" +
		"--check answers like a Nagios plugin: one line, and exit 0 OK, 1 WARNING, 2 CRITICAL or 3 UNKNOWN, as opdeck " +
		"check session does. With --warn or --crit the time left on the access token counts as well. --watch shows every " +
		"change until interrupted (json and jsonl: one object per line)."}
	out := also[sessionJSON, sessionJSON](r, forms(cmd, "jsonl"), "")
	show := r.do(func(ctx context.Context, a *app.App, _ []string) error {
		if watch {
			return watchSession(r, ctx, a)
		}
		s, v, err := judgedSession(ctx, a)
		if err != nil {
			return err
		}
		shown := card(statusOf(s), present.Session(present.Options{Now: s.AsOf, Zone: r.zone}, s, v)...)
		if s.State == string(session.None) && s.Warning == "" {
			shown = shown.says("The next call logs in, or run opdeck session login.")
		}
		return out(shown)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case check && watch:
			return usage("--check and --watch cannot be combined")
		case check:
			r.least = act.AContext
			timed := cmd.Flags().Changed("warn") || cmd.Flags().Changed("crit")
			return checkSession(r, cmd.Context(), timed, warn, crit)
		}
		return show(cmd, args)
	}
	cmd.Flags().BoolVar(&check, "check", false, "one line and exit code of a Nagios plugin")
	cmd.Flags().DurationVar(&warn, "warn", time.Minute, "with --check: WARNING when less time is left")
	cmd.Flags().DurationVar(&crit, "crit", 15*time.Second, "with --check: CRITICAL when less time is left")
	cmd.Flags().BoolVar(&watch, "watch", false, "show every change until interrupted")
	return cmd
}

// judgedSession is the session with the verdict; its warning is the first finding that concerns it.
func judgedSession(ctx context.Context, a *app.App) (session.Status, verdict.Verdict, error) {
	s, err := a.SharedSession().Status(ctx)
	if err != nil {
		return s, verdict.Verdict{}, err
	}
	v := app.Verdict(ctx, a)
	s.Warning = warningOf(v)
	return s, v, nil
}

func warningOf(v verdict.Verdict) string {
	for _, f := range v.Findings {
		if slices.Contains(verdict.SessionParts(), f.Part) {
			return f.Sentence
		}
	}
	return ""
}

// sessionLifetimeJSON is a Lifetime for programs, in seconds with one decimal.
type sessionLifetimeJSON struct {
	TTL       float64    `json:"ttl_seconds"`
	Remaining float64    `json:"remaining_seconds"`
	ExpiresAt *time.Time `json:"expires_at"`
	DeadSince *time.Time `json:"dead_since"`
	Assumed   bool       `json:"assumed"` // the service did not tell the lifetime: it is the documented one
}

// sessionCauseJSON is the cause of the pair's end.
type sessionCauseJSON struct {
	Cause     verdict.PastCause `json:"culprit"`
	At        *time.Time        `json:"at"`
	Sentence  string            `json:"sentence"`
	Evidence  []string          `json:"evidence"`
	OverSince *time.Time        `json:"over_since"`
}

func causeOf(p verdict.Past) *sessionCauseJSON {
	if p.Cause == verdict.NoPast {
		return nil
	}
	return &sessionCauseJSON{p.Cause, stamp(p.At), p.Sentence, append([]string{}, p.Evidence...), stamp(p.Over)}
}

func lifetimeOf(l session.Lifetime) sessionLifetimeJSON {
	out := sessionLifetimeJSON{TTL: tenths(l.TTL), Remaining: tenths(l.Remaining), ExpiresAt: stamp(l.ExpiresAt),
		Assumed: l.Assumed}
	if l.Dead {
		out.DeadSince = out.ExpiresAt
	}
	return out
}

func tenths(d time.Duration) float64 { return math.Round(d.Seconds()*10) / 10 }

// stamp is t for JSON, rounded down to milliseconds; nil for none.
func stamp(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}

// sessionJSON is the object of `opdeck session status`; missing times are null.
type sessionJSON struct {
	Context      string              `json:"context"`
	BaseURL      string              `json:"base_url"`
	Account      string              `json:"account"`
	State        string              `json:"state"`
	Generation   int64               `json:"generation"`
	Access       sessionLifetimeJSON `json:"access"`
	Refresh      sessionLifetimeJSON `json:"refresh"`
	NextRotation *time.Time          `json:"next_rotation_at"`
	Holder       *sessionHolderJSON  `json:"holder"` // null: no rotation
	Instances    int                 `json:"instances"`
	Counts       session.Counts      `json:"counts"`
	Last         *sessionLastJSON    `json:"last"`
	Warning      string              `json:"warning"`
	Cause        *sessionCauseJSON   `json:"cause"` // null: no known problem
	Borrowers    []session.Borrower  `json:"borrowers"`
}

// sessionHolderJSON is the process that is rotating.
type sessionHolderJSON struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
}

// sessionLastJSON is the last call for tokens.
type sessionLastJSON struct {
	Kind    session.Kind    `json:"kind"`
	At      *time.Time      `json:"at"`
	Outcome session.Outcome `json:"outcome"`
	TookMS  int64           `json:"took_ms"`
}

// statusOf is a status for programs.
func statusOf(s session.Status) sessionJSON {
	out := sessionJSON{
		s.Context, s.BaseURL, s.Account, s.State, s.Generation, lifetimeOf(s.Access), lifetimeOf(s.Refresh),
		stamp(s.NextRotation), nil, s.Instances, s.Counts, nil, s.Warning, causeOf(verdict.Explain(s)),
		append([]session.Borrower{}, s.Borrowers...),
	}
	if s.Holder != nil {
		out.Holder = &sessionHolderJSON{s.Holder.Host, s.Holder.PID}
	}
	if s.Last != nil {
		out.Last = &sessionLastJSON{s.Last.Kind, stamp(s.Last.At), s.Last.Outcome, s.Last.Took.Milliseconds()}
	}
	return out
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// watchSession prints changes until ctx ends, and then returns nil.
func watchSession(r *root, ctx context.Context, a *app.App) error {
	for s := range a.Session.Watch(ctx, time.Second) {
		s.Context = a.Context.Name
		if s.Warning == "" {
			s.Warning = warningOf(app.Verdict(ctx, a))
		}
		s.Borrowers, _ = a.SharedSession().Borrowers(ctx) // the status reports an unavailable store
		line := fmt.Sprintf("%s  %-8s  generation %d, access %ds, refresh %ds, %s", format.Clock(s.AsOf, r.zone), s.State,
			s.Generation,
			seconds(s.Access.Remaining), seconds(s.Refresh.Remaining), format.Plural(s.Instances, "instance", "instances"))
		if s.Warning != "" {
			line += "; " + s.Warning
		}
		if err := r.each(statusOf(s), line); err != nil {
			return err
		}
	}
	return nil
}

func seconds(d time.Duration) int64 { return int64(math.Max(0, math.Round(d.Seconds()))) }

// Exit codes of a Nagios plugin.
const (
	nagiosOK = iota
	nagiosWarning
	nagiosCritical
	nagiosUnknown
)

var nagiosWords = []string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}

// checkSession prints one line and returns its exit code; if the state is not known, that is UNKNOWN.
func checkSession(r *root, ctx context.Context, timed bool, warn, crit time.Duration) error {
	if warn < crit || crit < 0 {
		return plugin(r, r.chosen, "SESSION", nagiosUnknown, "--warn must not be below --crit, and neither below zero")
	}
	c := check(ctx, r, []verdict.Part{verdict.PartSession}, func(ctx context.Context, a *app.App) (c checked, err error) {
		s, v, err := judgedSession(ctx, a)
		c.code, c.line = checkResult(s, v, timed, warn, crit)
		return c, err
	})
	return plugin(r, c.context, "SESSION", c.code, c.line)
}

// checkResult is the result of --check for a session, with performance data: what the verdict finds of it and, if
// timed, the time left on the access token.
func checkResult(s session.Status, v verdict.Verdict, timed bool, warn, crit time.Duration) (code int, what string) {
	access := max(0, s.Access.Remaining)
	what = fmt.Sprintf("%s, access token has %ds of %ds left", s.State, seconds(access), seconds(s.Access.TTL))
	if s.Access.Assumed {
		what += " (assumed)"
	}
	code = nagiosCodes[v.StateOf(verdict.PartSession)]
	switch found := concerning(v, []verdict.Part{verdict.PartStore, verdict.PartService, verdict.PartSession}); {
	case len(found) > 0:
		code, what = nagiosWarning, found[0].Line()
		if found[0].Severity == verdict.Critical {
			code = nagiosCritical
		}
	case s.State == "none" && code != nagiosOK:
		code, what = nagiosCritical, "no session"
	case s.State == "doubtful" && s.Access.Dead && code != nagiosOK:
		code, what = nagiosWarning, "the tokens were revoked at "+moment(s.Access.ExpiresAt)+"; the next call logs in"
	case timed && s.State != "rotating" && access < crit:
		code = nagiosCritical
	case timed && access < warn:
		code = max(nagiosWarning, code)
	}
	what = strings.ReplaceAll(what, "|", "/") // after the first | there is data for programs
	return code, fmt.Sprintf("%s | access=%ds;%d:;%d:;0;%d refresh=%ds;;;0;%d instances=%d logins=%dc refreshes=%dc "+
		"unauthorized=%dc", what,
		seconds(access), seconds(warn), seconds(crit), seconds(s.Access.TTL), seconds(s.Refresh.Remaining),
		seconds(s.Refresh.TTL),
		s.Instances, s.Counts.Logins, s.Counts.Refreshes, s.Counts.Unauthorized)
}

func sessionRefreshCommand(r *root) *cobra.Command {
	return sessionActCommand(r, api.ActSessionRefresh, "Refreshed.", app.SharedSession.Refresh)
}

func sessionLoginCommand(r *root) *cobra.Command {
	return sessionActCommand(r, api.ActSessionLogin, "Logged in.", app.SharedSession.Login)
}

func sessionResetCommand(r *root) *cobra.Command {
	cmd := sessionActCommand(r, api.ActSessionReset, "Session reset. The next call logs in.",
		func(s app.SharedSession, ctx context.Context) error {
			if r.newStoreKey {
				return s.NewKey(ctx)
			}
			return s.Reset(ctx)
		})
	cmd.Long = "Erases the stored session, its back-off and the refused passwords; the next call logs in.\n\n" +
		"--new-key is for a store whose key file (opdeck.db.key, or [store] key_file) is lost: the stored tokens of every " +
		"account are given up, and the key that is in the file now takes its place. A missing opdeck.db.key is made anew. " +
		"Processes that have the old key stop."
	cmd.Flags().BoolVar(&r.newStoreKey, "new-key", false,
		"give up the tokens that a lost key has sealed, for all accounts in the store")
	return cmd
}

// sessionActCommand is one of the three acts on the session.
func sessionActCommand(r *root, kind api.ActKind, sentence string,
	do func(app.SharedSession, context.Context) error) *cobra.Command {
	return writes(r, &cobra.Command{}, func(ctx context.Context, a *app.App, _ []string) (w asked, _ sending[sessionJSON],
		_ error) {
		account, kind, sentence := session.MaskAccount(a.Session.Key().Account), kind, sentence
		w.typed, w.facts = account, []present.Fact{{Label: "context", Value: a.Context.Name},
			{Label: "account", Value: account}}
		if r.newStoreKey {
			w.facts = append(w.facts, present.Fact{Label: "key",
				Value: "gives up the stored tokens of every account in this store"})
		}
		if kind == api.ActSessionRefresh {
			if s, err := a.SharedSession().Status(ctx); err == nil && !s.Renewable() {
				w.facts = append(w.facts, present.Fact{Label: "pair", Value: "nothing to refresh: this logs in"})
				kind, sentence = api.ActSessionLogin, "Logged in: there were no tokens to refresh."
			}
		}
		return w, func(ctx context.Context) (out record[sessionJSON], err error) {
			if r.dryRun {
				return out, drySession(r, endpoint.Of(kind), account)
			}
			if err := do(a.SharedSession(), ctx); err != nil {
				return out, err
			}
			s, err := a.SharedSession().Status(ctx)
			if kind == api.ActSessionRefresh && s.From == session.ByLogin {
				sentence = "Logged in, since the refresh did not work: opdeck session status says why."
			}
			if r.output == "table" {
				err = nil // it is done
			}
			return value(statusOf(s)).says("%s", sentence), err
		}, nil
	})
}

// drySession prints the call that would be sent; a reset sends nothing.
func drySession(r *root, call *endpoint.Route, account string) error {
	var out dryJSON
	if call.Method != "" {
		out = dryJSON{Method: &call.Method, Path: &call.Path}
	}
	if call.Kind == api.ActSessionLogin {
		out.Body = map[string]string{"login": account, "password": "••••"}
	}
	return errors.Join(r.dry(out), api.ErrDryRun)
}

func sessionKeepCommand(r *root) *cobra.Command {
	return &cobra.Command{Long: "Refreshes the tokens before they expire, until interrupted (exit 0). One keeper per " +
		"account is enough; several coordinate among themselves.",
		RunE: r.do(func(ctx context.Context, a *app.App, _ []string) error {
			r.say("Keeping the session of %s alive; ctrl+c ends it.", a.Context.Name)
			return app.SessionError(a.Session.Keep(ctx))
		})}
}

func limitsCommand(r *root) *cobra.Command {
	return prints(r, lists(&cobra.Command{}), func(ctx context.Context, a *app.App, _ []string) (listOf[limit.Usage],
		error) {
		use, err := a.Limits.Usage(ctx)
		budgets := present.Budgets(use, 0)
		out := items(use, listed(r.options(ctx, a), present.BudgetColumns, budgets))
		out.after = present.BudgetNotes(budgets)
		return out, err
	})
}

func sessionProxyCommand(r *root) *cobra.Command {
	var socket, addr string
	var reveal bool
	cmd := &cobra.Command{Long: "Answers the service's own paths for scripts, until it is interrupted (exit 0). A " +
		"script sends its calls without a token: opdeck adds it, holds the calls to the budgets, and sends a write only " +
		"where the borrower's role, the guards and the second person allow it.\n\n" +
		"On the socket, which is this user's alone, the user is the borrower. On the port a key names one: " +
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
	cmd := &cobra.Command{Long: "Starts a command that may use the session, and exits with its exit code (128 plus the " +
		"signal's number: a signal ended it).\n\n" +
		"The command finds in its environment OPDECK_PROXY_URL, where the service's paths are answered, and " +
		"OPDECK_PROXY_KEY, which it sends as the header X-Opdeck-Key (or as its bearer token). The key ends with the " +
		"command. Passwords and secrets that the config names are not in its environment.",
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
	cmd.Env = append(a.Config.ChildEnv(proxyURL, proxyKey),
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
