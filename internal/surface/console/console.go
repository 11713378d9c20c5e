// Package console runs the full-screen console on an App: it provides the shell's screens and news, and draws it with
// the painter, on a local terminal or over a connection.
package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-osc52/v2"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"opdeck/api"
	"opdeck/api/evidence"
	"opdeck/api/limit"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/act/remedy"
	"opdeck/internal/app"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/format/shellwords"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/paint"
	"opdeck/ui/theme"
)

// Options describe the terminal of the console and its person.
type Options struct {
	In  io.Reader // nil: the process's own terminal
	Out io.Writer
	// Getenv is the terminal's environment: TERM, COLORTERM, NO_COLOR, TMUX, STY.
	Getenv  func(string) string
	NoColor bool
	// Local is true for the process's own terminal: signals are handled, and the background colour is queried.
	Local   bool
	Size    func() (w, h int)
	Resizes <-chan paint.Size
	// Filter gets every message first (idle time over SSH).
	Filter func(tea.Model, tea.Msg) tea.Msg
	Notice string // one line to show first; may be empty
	// Shared is what this console shares with others of its process; nil: it is the only one.
	Shared *Shared
}

// Run runs the console for the person in ctx until they leave.
func Run(ctx context.Context, a *app.App, opt Options) error {
	ctx, cancel := context.WithCancel(mask.ByCaller(api.WithTrail(ctx, a.Audit)))
	defer cancel()
	who := api.ActorOf(ctx)
	copies := make(chan []osc52.Sequence, 4)
	if opt.Local { // a server does this once for all consoles
		stop, err := keep(ctx, a, who, opt.Getenv)
		if err != nil {
			return err
		}
		defer stop()
	}
	people := newPeople(a, who)
	defer people.leave()
	feed := newFeed(ctx, a, people, opt.Shared)
	defer feed.close()
	if opt.Notice != "" {
		feed.put("notice", ui.Toast{Level: ui.Warning, Text: opt.Notice})
	}
	of := shellOptions(feed.announced(ctx), a, who, opt, feed, func(text []osc52.Sequence) error {
		select {
		case copies <- text:
			return nil
		default:
			return errors.New("the terminal is still busy with the last copy")
		}
	})
	of.Feeds = append(of.Feeds, func() tea.Msg { return nextCopy(ctx, copies) })
	shell := ui.New(of)
	closeWithin := time.Second
	if !opt.Local {
		closeWithin = overNetwork
	}
	_, err := paint.Run(ctx, shell,
		paint.Options{In: opt.In, Out: opt.Out, Size: opt.Size, Resizes: opt.Resizes, CloseWithin: closeWithin,
			Title: "opdeck", Mouse: a.Config.UI.Mouse, Signals: opt.Local, Filter: opt.Filter,
			OnPanic: func(v any, stack []byte) {
				a.Log.Error("console panic", "type", fmt.Sprintf("%T", v), "stack", string(stack))
			}})
	if next := shell.NextContext(); next != "" && left(err) == nil {
		return &SwitchContext{Name: next}
	}
	return left(err)
}

// overNetwork bounds the wait for a terminal at the other end of a network to take the last bytes: longer than an SSH
// session waits for its client's reply between two frames.
const overNetwork = 2500 * time.Millisecond

// SwitchContext is the error of a console that was left to open another context.
type SwitchContext struct{ Name string }

// Error implements error.
func (s *SwitchContext) Error() string { return "the console must be opened on context " + s.Name }

// otherContexts are the contexts that the person can switch to: over SSH none, since a server serves one.
func otherContexts(a *app.App, who api.Actor) []ui.About {
	if who.Via == "ssh" {
		return nil
	}
	names := slices.Sorted(maps.Keys(a.Config.Contexts))
	if len(names) > 0 && !slices.Contains(names, "sandbox") {
		names = append(names, "sandbox")
	}
	var out []ui.About
	for _, name := range names {
		c, known := a.Config.Contexts[name]
		c.Sandbox = c.Sandbox || !known // the built-in one
		if name != a.Context.Name {
			out = append(out, ui.About{Context: name, Environment: environment(c), ReadOnly: c.ReadOnly, Role: string(c.Role)})
		}
	}
	return out
}

// clipOf is how the terminal of a console takes copies. In tmux on this host its own command says whether it did.
func clipOf(a *app.App, opt Options) ui.Clip {
	clip := ui.ClipFrom(opt.Getenv)
	server, _, _ := strings.Cut(opt.Getenv("TMUX"), ",")
	if !opt.Local || server == "" {
		return clip
	}
	clip.Buffer = func(ctx context.Context, text string) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, "tmux", "-S", server, "load-buffer", "-w", "-")
		cmd.Env, cmd.Stdin = a.Config.ChildEnv(), strings.NewReader(text)
		return cmd.Run()
	}
	return clip
}

// environment is the ground of a context.
func environment(c config.Context) ui.Environment {
	switch {
	case c.Sandbox:
		return ui.Sandbox
	case c.Kind == config.Production:
		return ui.Production
	}
	return ui.Test
}

// shellOptions are the options of a person's console: its screens, the role's keys and masking, and the news.
func shellOptions(ctx context.Context, a *app.App, who api.Actor, opt Options, feed *feed,
	copy func([]osc52.Sequence) error) ui.Options {
	d := &backend{app: a, feed: feed, shared: opt.Shared, files: hostFiles{a}}
	if evidence.Of(ctx) == nil {
		ctx = evidence.In(ctx, &evidence.Book{})
	}
	themed := func(name string) *theme.Theme { return themeFor(name, opt) }
	return ui.Options{
		NoPreview: d.previewOff(ctx), KeepPreview: d.keepPreview, KeepTheme: d.keepTheme,
		Finder: &finder{backend: d}, Filters: ui.FilterMemory{Last: d.Filters, Keep: d.KeepFilter}, Themes: themed,
		Contexts: otherContexts(a, who), Commands: d.commands, Context: ctx,
		About: about(a, who), Theme: themed(d.chosenTheme(ctx)), Make: d.screen,
		Feeds: []tea.Cmd{feed.first}, IdleLock: idleLock(a, opt),
		Verdict: func(ctx context.Context) verdict.Verdict { return conclude(ctx, a) },
		Keys:    a.Config.Presses(),
		May:     mayPress(who.Role), UTC: a.Config.UI.TimeZone == "UTC", Mask: masks(ctx, a),
		Reveal: reveal(a), OnPlace: feed.people.moved, OnBarred: denied(ctx, a.Audit, who, a.ReadOnly),
		Clip: clipOf(a, opt), Now: a.Now, Copy: copy,
	}
}

// masks reports whether the screens mask values: unless [ui] mask is false, the role may reveal them and the trail has
// recorded it.
func masks(ctx context.Context, a *app.App) bool {
	if a.Config.UI.Mask || mask.Barred(ctx) {
		return true
	}
	err := mask.Record(ctx, a.Audit, api.Event{Name: audit.EventReveal, Object: "console", ID: a.Context.Name,
		Detail: "[ui] mask is false: nothing is masked on this console"})
	if err != nil {
		a.Log.Error("audit", "err", err)
	}
	return err != nil
}

// keep does the work around a console: it records that the person opened and left it, works in the background and
// receives webhooks.
func keep(ctx context.Context, a *app.App, who api.Actor, env func(string) string) (stop func(), err error) {
	_, stopHooks, err := a.Hooks().Start(ctx, env)
	if err != nil {
		return nil, err
	}
	came := make(chan struct{}) // the first frame must not wait for the disk
	go func() { defer close(came); opened(ctx, a, who) }()
	stopWork := background(ctx, a)
	return func() {
		stopHooks()
		stopWork()
		<-came
		closed(ctx, a, who)
	}, nil
}

// background does work while a console is open: the sync of the index, the audit trail's outcomes and checkpoints,
// and retention.
func background(ctx context.Context, a *app.App) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if limit.Sleep(ctx, rowsFirst) != nil {
			return
		}
		defer a.StartFollow(ctx)()
		defer app.Retain(ctx, a)()
		defer a.Mirror().Start(ctx)()
		a.Audit.Run(ctx)
	}()
	return func() { cancel(); <-done }
}

// A console first reads the rows of its first screen. What else it does waits meanwhile for so long: on a host with two
// cores it would take half of the time from the rows.
const (
	factsFirst = 15 * time.Millisecond  // for what the header shows
	rowsFirst  = 100 * time.Millisecond // for work in the background
)

// opened records that a person opened the console.
func opened(ctx context.Context, a *app.App, who api.Actor) {
	e := api.Event{Name: audit.EventConsoleOpen, Object: "console", ID: a.Context.Name}
	if err := a.Audit.Note(ctx, who, e); err != nil {
		a.Log.Error("audit", "err", err) // reading remains possible; the gate refuses writes
	}
}

// closed records that the person left.
func closed(ctx context.Context, a *app.App, who api.Actor) {
	e := api.Event{Name: audit.EventConsoleClose, Object: "console", ID: a.Context.Name}
	if err := a.Audit.Note(context.WithoutCancel(ctx), who, e); err != nil {
		a.Log.Error("audit", "err", err)
	}
}

// left converts errors that are normal ways to leave to nil.
func left(err error) error {
	var sig *paint.SignalError
	switch {
	case err == nil, errors.Is(err, paint.ErrInputClosed):
		return nil
	case errors.Is(err, tea.ErrInterrupted), errors.Is(err, context.Canceled), errors.As(err, &sig):
		return &api.Error{Kind: api.Interrupted, Public: "Stopped.", Err: err}
	}
	return &api.Error{Kind: api.Internal, Public: "The console stopped because of an internal error.",
		Hint: "Use --log-file to record the details.", Err: err}
}

// nextCopy passes a copied text from a command to the painter, and waits for the next one.
func nextCopy(ctx context.Context, copies <-chan []osc52.Sequence) tea.Msg {
	select {
	case text := <-copies:
		return tea.BatchMsg{func() tea.Msg { return paint.CopyMsg(text) }, func() tea.Msg { return nextCopy(ctx, copies) }}
	case <-ctx.Done():
		return nil
	}
}

func about(a *app.App, who api.Actor) ui.About {
	return ui.About{Context: a.Context.Name, Environment: environment(a.Context), ReadOnly: a.ReadOnly, Person: who.Name,
		Role: string(who.Role), Remote: remote(who),
		SecondPerson: a.Context.Approval == "second_person", Proxy: a.Proxy}
}

// remote begins a command line that connects to this server like the person did; the host is the address as the
// server sees it, which the person may know by another name.
func remote(who api.Actor) string {
	if who.Via != "ssh" {
		return ""
	}
	host, port, err := net.SplitHostPort(who.At)
	if err != nil {
		host, port = "HOST", "PORT"
	}
	return "ssh -p " + shellwords.Quote(port) + " " + shellwords.Quote(untrusted.Text(who.Login).Line(64)+"@"+host)
}

func themeFor(name string, opt Options) *theme.Theme {
	out := opt.Out
	if out == nil {
		out = os.Stdout
	}
	term := opt.Getenv("TERM")
	r := lipgloss.NewRenderer(out, termenv.WithProfile(profile(opt.Getenv)))
	r.SetColorProfile(profile(opt.Getenv))
	dark := darkGround(opt.Getenv)
	r.SetHasDarkBackground(dark)
	return theme.For(r, name, dark, opt.NoColor || opt.Getenv("NO_COLOR") != "", term)
}

// profile is the number of colours by the environment. The terminal is not queried: one that does not answer would
// delay the first frame.
func profile(getenv func(string) string) termenv.Profile {
	term, color := getenv("TERM"), getenv("COLORTERM")
	switch {
	case term == "" || term == "dumb":
		return termenv.Ascii
	case color == "truecolor" || color == "24bit":
		return termenv.TrueColor
	case strings.HasSuffix(term, "-256color"), color != "":
		return termenv.ANSI256
	}
	return termenv.ANSI
}

// darkGround evaluates COLORFGBG ("15;0"), which many terminals set; dark without it. Only high contrast asks.
func darkGround(getenv func(string) string) bool {
	v := getenv("COLORFGBG")
	switch {
	case v == "":
		return true
	case strings.HasSuffix(v, ";15"), strings.HasSuffix(v, ";7"):
		return false
	}
	return true
}

// greeting is shown at the start if there is no config file: what the person sees, and what to do next. It fits a
// terminal of 80 columns.
func greeting(a *app.App) string {
	if a.Config.Path != "" || !a.Context.Sandbox {
		return ""
	}
	return "Built-in service: nothing is real. enter opens, ? lists the keys."
}

// idleLock is the time without a key after which the console is blanked, for the process's own terminal only. A
// remote session ends instead.
func idleLock(a *app.App, opt Options) time.Duration {
	if !opt.Local {
		return 0
	}
	return a.Config.UI.IdleVeil.D()
}

// mayPress returns why a role may not press the key of an act; the gate checks again.
func mayPress(role api.Role) func(keymap.Key) string {
	return func(k keymap.Key) string {
		a := k.Act
		if a == nil {
			return ""
		}
		if err := a.Refusal(role, false); err != nil {
			return err.Public + " " + remedy.Screen(err)
		}
		if !a.Offered(role) {
			return fmt.Sprintf("Your role (%s) cannot do this; %s can.", role, act.RoleNames(a.Roles))
		}
		return ""
	}
}

// denied records that a person pressed a key that read-only mode or the role disables, like an attempt by command.
func denied(ctx context.Context, trail api.Auditor, who api.Actor,
	readOnly bool) func(a *act.Act, at ui.Place) tea.Cmd {
	return func(a *act.Act, at ui.Place) tea.Cmd {
		rule, what := api.RuleRole, string(a.Need)
		if err := a.Refusal(who.Role, readOnly); err != nil {
			rule = err.Rule
		}
		if rule == api.RuleReadOnly {
			what = a.Name
		}
		e := api.Event{Name: "denied", Object: "key", ID: a.Name, Detail: what + ": " + string(rule)}
		return func() tea.Msg {
			_ = trail.Note(context.WithoutCancel(ctx), who, e) // the refusal holds without a record
			return nil
		}
	}
}
