// Package spoken is the whole console as linear text: every task of the
// full-screen console as menus, sentences and questions, over the same App, the
// same client and the same gate. It is for screen readers and for terminals that
// can only print.
package spoken

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/app"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/presence"
	"opdeck/internal/store/journal"
	"opdeck/ui/plain"
)

// Options say whom the console talks with. In and Out are required.
type Options struct {
	In  io.Reader
	Out io.Writer
	// Width is where lines are wrapped, in cells; 0: not at all.
	Width int
	// Getenv is the terminal's environment; LC_ALL, LC_CTYPE and LANG tell whether
	// it can show more than ASCII. nil: it can.
	Getenv func(string) string
	// Secret reads a line unseen from the same terminal as In; nil: there is no
	// way to, and files are asked for instead.
	Secret func(prompt string) (string, error)
	// Echo is for a raw channel that does not show what is typed (an SSH session
	// with a terminal): each line that is taken is repeated, secrets are not.
	Echo bool
	// Pause is how long a question ignores what is typed before it can be answered;
	// 0: 400 ms.
	Pause time.Duration
}

// console is one conversation. It belongs to one goroutine.
type console struct {
	app  *app.App
	who  api.Actor
	talk *plain.Talk
	zone *time.Location

	list     listing
	removed  map[string][]removed // by opid: taken off here, newest last
	revealed map[string]bool      // ids of what was revealed here
	news     news
	calls    calls

	announcements announcements
	board         *presence.Board
	object        string // where the person is, for presence: "operation" or "customer"
	id            string
}

// Run talks until the person quits or the input ends (nil) or they interrupt it
// (an api.Error of kind Interrupted). The person is the one in ctx.
func Run(ctx context.Context, a *app.App, opt Options) error {
	c := &console{app: a, who: api.ActorOf(ctx), zone: time.Local, removed: map[string][]removed{}, revealed: map[string]bool{}}
	if a.Config.UI.TimeZone == "UTC" {
		c.zone = time.UTC
	}
	c.board = presence.New(journal.NewPresence(a.Store.Core), a.Scope(), c.who.Name, app.HostName(), a.Now)
	c.talk = plain.New(plain.Options{In: opt.In, Out: opt.Out, Width: opt.Width, ASCII: onlyASCII(opt.Getenv), Echo: opt.Echo,
		Secret: opt.Secret, Pause: opt.Pause, Before: c.before, Why: c.calls.why})
	defer c.talk.Close()
	defer a.OnCall(c.calls.take)()
	defer a.OnSettled(c.news.took)()
	if !c.served() { // a server does this for all
		c.note(ctx, audit.EventConsoleOpen)
		defer c.note(context.WithoutCancel(ctx), audit.EventConsoleClose)
		defer background(ctx, a)()
	}
	defer c.gone()
	c.everywhere()
	ctx = api.WithAnnouncements(ctx, c.announcements.add)
	return c.left(ctx, c.begin(ctx))
}

// background does what is due while a console is open: the sync of the index,
// and the audit trail's outcomes and checkpoints.
func background(ctx context.Context, a *app.App) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	stopFollow := a.StartFollow(ctx)
	stopSync := a.StartSync(ctx)
	done := make(chan struct{})
	go func() { defer close(done); a.Audit.Run(ctx) }()
	return func() { cancel(); stopFollow(); stopSync(); <-done }
}

func (c *console) note(ctx context.Context, event string) {
	if err := c.app.Audit.Note(ctx, c.who, api.Event{Name: event, Object: "console", ID: c.app.Context.Name}); err != nil {
		c.app.Log.Error("audit", "err", err) // reading goes on; writes are refused by the gate
	}
}

// left says which ways out are no failures.
func (c *console) left(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil, errors.Is(err, plain.ErrInterrupted), errors.Is(err, plain.ErrGone):
		return &api.Error{Kind: api.Interrupted, Public: "Stopped.", Err: err}
	case err == nil, errors.Is(err, plain.ErrQuit), errors.Is(err, plain.ErrHome), errors.Is(err, plain.ErrBack):
		c.talk.Say("Goodbye.")
		return nil
	case errors.Is(err, plain.ErrEnd):
		c.talk.Say("The input has ended. Goodbye.")
		return nil
	}
	return err
}

// onlyASCII reports whether the environment names a character set other than
// UTF-8. One that names none is trusted to show UTF-8.
func onlyASCII(getenv func(string) string) bool {
	if getenv == nil {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return !strings.Contains(v, "utf-8") && !strings.Contains(v, "utf8")
		}
	}
	return false
}

// begin greets, offers what stands still, and opens the main menu.
func (c *console) begin(ctx context.Context) error {
	c.talk.Say("opdeck, spoken mode.", c.ground(),
		"Everything is said in whole lines, and nothing is drawn. ? lists what can be typed, back goes back, quit leaves.")
	c.news.begin(ctx, c)
	c.remind(ctx)
	if err := c.offerJobs(ctx); err != nil && !errors.Is(err, plain.ErrHome) && !errors.Is(err, plain.ErrBack) {
		return err
	}
	return c.talk.Menu(ctx, c.main())
}

// ground says where we are and who we are: "PRODUCTION. …".
func (c *console) ground() string {
	a := c.app
	s := "TEST. Context " + a.Context.Name + "."
	switch {
	case a.Context.Sandbox:
		s = "SANDBOX. Context " + a.Context.Name + ", the built-in service with sample data."
	case a.Context.Kind == config.Production:
		s = "PRODUCTION. Context " + a.Context.Name + "."
	}
	if a.ReadOnly {
		s += " READ-ONLY: nothing can be changed here."
	}
	return s + " You are " + untrusted.Text(c.who.Name).Line(60) + ", role " + orNone(string(c.who.Role)) + "."
}

func (c *console) production() bool {
	return !c.app.Context.Sandbox && c.app.Context.Kind == config.Production
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// remind tells what an earlier shift or a crash left unfinished.
func (c *console) remind(ctx context.Context) {
	if open, err := c.app.Journeys.Store.UnfinishedJourneys(ctx); err == nil && len(open) > 0 {
		c.talk.Say(plural(len(open), "verification is", "verifications are") + " begun and not finalised. Compliance lists them.")
	}
	if acts, err := c.app.Trail().Unsettled(ctx); err == nil && len(acts) > 0 {
		c.talk.Say(plural(len(acts), "write has", "writes have") + " no known outcome. Audit, unsettled, lists them.")
	}
}

func (c *console) main() plain.Menu {
	places := []struct {
		name string
		open func(context.Context) error
	}{
		{"Operations", func(ctx context.Context) error { return c.operations(ctx) }},
		{"Operation, by its id", func(ctx context.Context) error { return c.openAsked(ctx, "") }},
		{"Documents of an operation", func(ctx context.Context) error { return c.documentsAsked(ctx) }},
		{"Compliance: customers and their verification", c.customers},
		{"Limits", c.limits},
		{"Session", c.session},
		{"Events", c.events},
		{"Audit", c.audit},
		{"Approvals", c.approvals},
	}
	return plain.Menu{Name: "Main menu", Root: true, Numbers: "opens that place",
		Intro: func(context.Context) error {
			c.talk.Say("Main menu.")
			for i, p := range places {
				c.talk.Say(numbered(i+1, p.name+"."))
			}
			return nil
		},
		Pick: func(ctx context.Context, n int) error {
			if n < 1 || n > len(places) {
				c.talk.Say("There are the numbers 1 to " + count(len(places)) + ".")
				return nil
			}
			return places[n-1].open(ctx)
		},
		Other: func(ctx context.Context, typed string) (bool, error) {
			word := strings.ToLower(typed)
			for _, p := range places {
				if first, _, _ := strings.Cut(strings.ToLower(p.name), ":"); len(word) > 2 && strings.HasPrefix(first, word) {
					return true, p.open(ctx)
				}
			}
			return false, nil
		}}
}

// everywhere are the commands that every menu has.
func (c *console) everywhere() {
	c.talk.Everywhere(
		plain.Command{Name: "open", Args: "ID", Help: "opens an operation by its id.", Do: c.openAsked},
		plain.Command{Name: "where", Help: "says which context this is and how the session stands.", Do: c.where},
		plain.Command{Name: "calls", Help: "says what was asked of the service last, and what became of it.", Do: c.sayCalls},
		plain.Command{Name: "utc", Help: "says times in UTC from now on.", Do: func(context.Context, string) error { return c.inZone(time.UTC, "UTC") }},
		plain.Command{Name: "local", Help: "says times in local time from now on.", Do: func(context.Context, string) error { return c.inZone(time.Local, "local time") }})
}

func (c *console) inZone(zone *time.Location, name string) error {
	c.zone = zone
	c.talk.Say("Times are now said in " + name + ".")
	return nil
}

func (c *console) where(ctx context.Context, _ string) error {
	c.talk.Say(c.ground())
	if st, err := c.app.SessionStatus(ctx); err == nil {
		c.talk.Say(sessionLine(st))
	}
	if line, ok := c.app.SyncProgress(ctx); ok {
		c.talk.Say("The index: " + line + ".")
	}
	return nil
}
