package console

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/app"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/mask"
	"opdeck/ui"
	"opdeck/ui/plain"
	"opdeck/ui/theme"
	"opdeck/views/approvals"
	"opdeck/views/operations"
	"opdeck/views/records"
	"opdeck/views/storedfile"
)

// PlainOptions describe the terminal and the person of the plain mode. In and Out are required.
type PlainOptions struct {
	In  io.Reader
	Out io.Writer
	// Width is the width for wrapping lines, in cells; 0: no wrapping.
	Width int
	// Getenv is the terminal's environment; LC_ALL, LC_CTYPE and LANG decide whether it shows more than ASCII. nil:
	// empty, and it does.
	Getenv func(string) string
	// Secret reads a line without echo from the terminal of In; nil: not possible, and files are asked for instead.
	Secret func(prompt string) (string, error)
	// Echo is for a raw channel that does not show what is typed (an SSH session with a terminal): each accepted line
	// is repeated, except secrets.
	Echo bool
	// Pause is how long a question ignores input before it can be answered; 0: 400 ms.
	Pause  time.Duration
	Shared *Shared // as in Options
	Notice string  // printed first; may be empty
}

// RunPlain is Run in plain mode: the same screens in whole lines, for the person in ctx. It ends when the person
// quits or the input ends (nil), or with an interrupt (an api.Error of kind Interrupted).
func RunPlain(ctx context.Context, a *app.App, opt PlainOptions) error {
	ctx, cancel := context.WithCancel(mask.ByCaller(api.WithTrail(ctx, a.Audit)))
	defer cancel()
	if opt.Getenv == nil {
		opt.Getenv = func(string) string { return "" }
	}
	who := api.ActorOf(ctx)
	if who.Via != "ssh" { // a server does this once for all consoles
		stop, err := keep(ctx, a, who, opt.Getenv)
		if err != nil {
			return err
		}
		defer stop()
	}
	talk := plain.New(plain.Options{In: opt.In, Out: opt.Out, Width: opt.Width, ASCII: onlyASCII(opt.Getenv),
		Echo: opt.Echo, Secret: opt.Secret, Pause: opt.Pause})
	defer talk.Close()
	people := newPeople(a, who)
	people.opens, people.greeted = "approvals", true
	defer people.leave()
	feed := newFeed(ctx, a, people, nil) // each prompt reads what has changed
	feed.verdict.soon = true
	defer feed.close()
	n := &plainNews{alone: true}
	host := plain.NewHost(talk,
		plain.HostOptions{Ground: ground(a, who), Places: plainPlaces, Now: a.Now, Said: n.said,
			NoFiles: storedfile.NoFiles(ctx),
			News: func(_ context.Context, look bool) []tea.Msg {
				if look {
					feed.poll()
				}
				return []tea.Msg(feed.take())
			}})
	shell := ui.New(plainShell(feed.announced(ctx), a, who, opt, feed, host))
	talk.Say("opdeck, plain mode.", ground(a, who),
		"Everything is printed as whole lines. ? lists what you can type, back goes back, quit leaves. You can also type "+
			"any key that a line names.")
	if opt.Notice != "" {
		talk.Say(opt.Notice)
	}
	for _, left := range unfinished(ctx, a, "4 lists") {
		talk.Say(left.sentence)
	}
	err := host.Run(ctx, shell)
	if next := shell.NextContext(); next != "" && errors.Is(err, plain.ErrQuit) {
		talk.Say("Leaving context " + a.Context.Name + ".")
		return &SwitchContext{Name: next}
	}
	return plainLeft(talk, err)
}

// plainShell are the options of a drawn console, adapted to lines.
func plainShell(ctx context.Context, a *app.App, who api.Actor, opt PlainOptions, feed *feed,
	host *plain.Host) ui.Options {
	o := shellOptions(ctx, a, who, Options{Getenv: opt.Getenv, Shared: opt.Shared}, feed, nil)
	o.Feeds, o.Theme, o.Themes, o.Report = nil, theme.Words(), nil, host.Report
	o.Tick = func(time.Duration, func(time.Time) tea.Msg) tea.Cmd { return nil } // nothing drawn changes by time
	return o
}

// plainPlaces are the main menu.
var plainPlaces = []plain.Place{
	{Name: "Operations", Word: "operations", Place: ui.Place{Kind: ui.KindOperations}},
	{Name: "Operation, by its id", Word: "operation", Place: ui.Place{Kind: ui.KindOperation}, ByID: true, IDs: true},
	{Name: "Documents of an operation, by its id", Word: "documents", Place: ui.Place{Kind: ui.KindDocuments}, ByID: true,
		IDs: true},
	{Name: "Compliance: customers and their verification", Word: "compliance", Place: ui.Place{Kind: ui.KindCompliance},
		IDs: true},
	{Name: "Limits", Word: "limits", Place: ui.Place{Kind: ui.KindLimits}},
	{Name: "Session", Word: "session", Place: ui.Place{Kind: ui.KindSession}},
	{Name: "Events", Word: "events", Place: ui.Place{Kind: ui.KindEvents}},
	{Name: "Audit", Word: "audit", Place: ui.Place{Kind: ui.KindAudit}},
	{Name: "Approvals", Word: "approvals", Place: ui.Place{Kind: approvals.Kind}},
	{Name: "Accounts with their balances", Word: "accounts", Place: ui.Place{Kind: records.KindAccounts}, IDs: true},
	{Name: "Counterparties and the status of their accounts", Word: "counterparties",
		Place: ui.Place{Kind: records.KindCounterparties}, IDs: true},
	{Name: "On call: what is wrong, and the state of each part", Word: "on-call",
		Place: ui.Place{Kind: ui.KindOnCall}},
}

// plainLeft says goodbye and converts errors that are normal ways to leave to nil.
func plainLeft(talk *plain.Talk, err error) error {
	switch {
	case errors.Is(err, plain.ErrQuit):
		talk.Say("Goodbye.")
		return nil
	case errors.Is(err, plain.ErrEnd):
		talk.Say("The input has ended. Goodbye.")
		return nil
	}
	return &api.Error{Kind: api.Interrupted, Public: "Stopped.", Err: err}
}

// onlyASCII reports whether the environment names a character set other than UTF-8. Without one, UTF-8 is assumed.
func onlyASCII(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return !strings.Contains(v, "utf-8") && !strings.Contains(v, "utf8")
		}
	}
	return false
}

// ground names the context and the person: "PRODUCTION. …".
func ground(a *app.App, who api.Actor) string {
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
	role := string(who.Role)
	if role == "" {
		role = "none"
	}
	return s + " You are " + untrusted.Text(who.Name).Line(60) + ", role " + role + "."
}

// plainNews reports others at the same place; the shell reports what is wrong.
type plainNews struct {
	alone bool // no one else was at the place last reported
}

func (n *plainNews) said(msg tea.Msg) []string {
	switch msg := msg.(type) {
	case ui.BatchMsg:
		var out []string
		for _, m := range msg {
			out = append(out, n.said(m)...)
		}
		return out
	case ui.Presence:
		return n.company(msg)
	}
	return nil
}

// company says who else is here, if that changed.
func (n *plainNews) company(p ui.Presence) []string {
	object, ok := objectOf(p.At)
	if !ok {
		return nil
	}
	var names []string
	for _, other := range p.Others {
		name := other.Name
		if other.Asking {
			name += ", who is being asked about a write,"
		}
		names = append(names, name)
	}
	alone := n.alone
	n.alone = len(names) == 0
	switch {
	case alone && n.alone:
		return nil
	case n.alone:
		return []string{"No one else has this " + object + " open now."}
	case len(names) == 1:
		return []string{names[0] + " has this " + object + " open too."}
	}
	return []string{plain.List(names) + " have this " + object + " open too."}
}

// hostFiles reads and writes local files for the screens. Over SSH they would be the server's, not the person's, so
// each method returns a refusal.
type hostFiles struct{ app *app.App }

func refuseFiles(ctx context.Context, op string) error {
	if why := storedfile.NoFiles(ctx); why != "" {
		return api.Refusal(op, api.RuleFile, "%s", why)
	}
	return nil
}

// ReadUpload reads a file to upload.
func (h hostFiles) ReadUpload(ctx context.Context, path string) (api.Upload, error) {
	if err := refuseFiles(ctx, "upload document"); err != nil {
		return api.Upload{}, err
	}
	return app.ReadUpload(path)
}

// SaveDocument writes a customer's document to a file.
func (h hostFiles) SaveDocument(ctx context.Context, cuid, id, path string, over bool) (string, error) {
	if err := refuseFiles(ctx, "save document"); err != nil {
		return "", err
	}
	return app.SaveDocument(ctx, h.app.Client, cuid, id, path, over)
}

// Export writes a sheet of operations to a new file.
func (h hostFiles) Export(ctx context.Context, s index.Sheet, path string,
	progress func(done, total int)) (operations.Exported, error) {
	if err := refuseFiles(ctx, "export"); err != nil {
		return operations.Exported{}, err
	}
	e, err := h.app.Mirror().Export(ctx, s, path, progress)
	return operations.Exported{Rows: e.Rows, Path: e.Path, Size: e.Size, Fresh: e.Fresh,
		Lacks: e.Lacks}, err
}
