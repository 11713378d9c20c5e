package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opdeck/api"
	"opdeck/api/evidence"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/present"
)

// commands maps acts to the makers of their commands; each group's are in its file. Usage, arguments, help, role,
// read-only check, --yes and --dry-run come from the act's row.
type commands map[*act.Act]func(*root) *cobra.Command

// otherCommands are the commands without a group.
var otherCommands = commands{
	act.Limits: limitsCommand, act.Doctor: doctorCommand, act.Check: checkCommand, act.Sandbox: sandboxCommand,
	act.Schema: newSchemaCommand,
	act.Backup: backupCommand, act.Restore: restoreCommand, act.Migrate: migrateCommand,
	act.Version: versionCommand, act.Completion: completionCommand, act.Man: manCommand,
}

// groups are the first words of grouped commands. The help adds the verbs to the short text.
var groups = map[string]struct {
	aliases  []string
	short    string
	commands commands
}{
	"operation":    {[]string{"op"}, "Operations", operationCommands},
	"document":     {[]string{"doc"}, "Documents of operations", documentCommands},
	"customer":     {nil, "Customers and their applications", customerCommands},
	"account":      {nil, "Customers' accounts with balances and requisites", accountCommands},
	"counterparty": {nil, "Payees and the status of their accounts", counterpartyCommands},
	"tariff":       {nil, "Payment limits and commissions", tariffCommands},
	"compliance":   {[]string{"kyc"}, "A customer's verification", complianceCommands},
	"session":      {nil, "The one shared session", sessionCommands},
	"index":        {nil, "The local index of operations", indexCommands},
	"event":        {[]string{"events"}, "Webhooks", eventCommands},
	"hook":         {nil, "The service's webhook settings", hookCommands},
	"audit":        {nil, "The audit trail", auditCommands},
	"approval":     {nil, "Writes waiting for a second person", approvalCommands},
	"notify":       {nil, "Notices", notifyCommands},
	"note":         {nil, "Notes for colleagues", noteCommands},
	"config":       {nil, "The config file", configCommands},
}

// maker returns the maker of an act's command; nil if there is none.
func maker(a *act.Act) func(*root) *cobra.Command {
	if group, _, two := strings.Cut(a.Name, "."); two {
		return groups[group].commands[a]
	}
	return otherCommands[a]
}

// addCommands adds the command of every act below top.
func (r *root) addCommands(top *cobra.Command) {
	parents := map[string]*cobra.Command{}
	for _, row := range act.All() {
		if row.Without[act.Command] != "" {
			continue
		}
		parent := top
		if group, _, two := strings.Cut(row.Name, "."); two {
			if parent = parents[group]; parent == nil {
				parent = &cobra.Command{Use: group, Aliases: groups[group].aliases, Short: groups[group].short}
				parents[group] = parent
				top.AddCommand(parent)
			}
		}
		cmd := r.applyRow(maker(row)(r), row)
		if parent == top { // it may be a group, too
			parents[row.Name] = cmd
		}
		parent.AddCommand(cmd)
	}
}

// applyRow applies an act's row to its command.
func (r *root) applyRow(cmd *cobra.Command, row *act.Act) *cobra.Command {
	cmd.Use, cmd.Short = row.Use(), row.Short
	least, most := 0, len(row.Args)
	for _, a := range row.Args {
		if !a.Optional {
			least++
		}
		if a.Many {
			most = -1
		}
	}
	if cmd.Args == nil {
		cmd.Args = cobra.MinimumNArgs(least)
		if most >= 0 {
			cmd.Args = cobra.RangeArgs(least, most)
		}
	}
	if len(row.Sends) > 0 {
		cmd.Flags().BoolVar(&r.dryRun, "dry-run", false, "print method, path and body as JSON, and send nothing")
		r.printed[cmd] = append(r.printed[cmd], printed{when: "--dry-run", json: reflect.TypeFor[dryJSON](),
			jsonl: reflect.TypeFor[dryJSON](), many: true})
	}
	if row.Effect == act.Write && len(row.Sends) > 0 {
		cmd.Flags().StringVar(&r.reason, "reason", "", "reason; the second person reads it, and the audit trail keeps it")
	}
	if row.Reveals {
		cmd.Flags().BoolVar(&r.reveal, "reveal", false, "print masked values in full; the audit trail records it")
	}
	if row.Ask != act.Nothing {
		cmd.Flags().BoolVar(&r.yes, "yes", false, "do not ask")
	}
	return cmd
}

// begin records the row of the command that is about to run.
func (r *root) begin(cmd *cobra.Command, args []string) error {
	row := act.Act{Name: path(cmd)} // for the console itself, and help
	if a := act.Find(path(cmd)); a != nil {
		row = *a
	} else if cmd == cmd.Root() {
		row.Need = api.MayRead
	}
	if row.Bare != "" && len(args) == 0 { // it only lists
		row.Effect, row.Ask = act.Read, act.Nothing
	}
	row.Need = row.Needs(args)
	r.row, r.args, r.least = &row, args, row.Least
	if cmd.ValidateFlagGroups() != nil {
		var given []string
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if len(f.Annotations) > 0 {
				given = append(given, "--"+f.Name)
			}
		})
		return usage("give only one of %s", strings.Join(given, ", "))
	}
	return r.checkOutput(cmd)
}

// askable returns an error for a write without a possible confirmation: there is no terminal, or standard input has
// its content.
func (r *root) askable() error {
	if r.row.Ask == act.Nothing || r.yes || r.dryRun {
		return nil
	}
	args := r.args
	for i, a := range r.row.Args {
		if a.File && i < len(args) && args[i] == "-" {
			return usage("standard input is the content, so opdeck cannot ask: use --yes to confirm, or --dry-run")
		}
	}
	if r.env.InTTY {
		return nil
	}
	hint := "Use --yes to confirm."
	if len(r.row.Sends) > 0 {
		hint = "Use --yes to confirm, or --dry-run to see the request."
	}
	return &api.Error{Kind: api.Usage, Public: "This is a write, and standard input is not a terminal.", Hint: hint}
}

// refused is the refusal of the current act, before anything is read or sent; it is recorded. A dry run sends
// nothing, so a read-only context allows it.
func (r *root) refused(ctx context.Context, a *app.App) error {
	if r.row.Need != "" {
		if err := api.Need(ctx, r.row.Path(), r.row.Need); err != nil {
			return err
		}
	}
	recorded := r.row.Barred() || r.row.Effect == act.TakeOut
	if missing := a.Audit.Unrecorded(); missing != nil && recorded && !r.dryRun {
		return missing
	}
	if !a.ReadOnly || !r.row.Barred() || r.dryRun {
		return nil
	}
	err := api.ReadOnly(r.row.Name)
	note := api.Event{Name: "denied", Object: "command", ID: r.row.Path(), Detail: r.row.Name + ": " + string(err.Rule)}
	if noteErr := a.Audit.Note(ctx, api.ActorOf(ctx), note); noteErr != nil {
		a.Log.Error("audit", "err", noteErr) // the refusal holds without a record
	}
	return err
}

// asked is a prepared write: its question and how to send it.
type asked struct {
	object act.Object
	typed  string         // the id whose end must be typed in a production context
	facts  []present.Fact // shown above the question
	risk   string         // more than the act's own
	now    string         // what a yes does, where a second person approves
	send   func(ctx context.Context) error
}

// asks makes the body of a command with a confirmation: prepare reads what the question needs and sends nothing.
func (r *root) asks(prepare func(ctx context.Context, a *app.App, args []string) (asked, error)) func(*cobra.Command,
	[]string) error {
	return r.do(func(ctx context.Context, a *app.App, args []string) error {
		w, err := prepare(ctx, a, args)
		if err != nil {
			return err
		}
		consent, now, err := r.consent(ctx, a, w)
		if err != nil {
			return err
		}
		w.now = now
		if err := r.confirm(ctx, w); err != nil {
			return err
		}
		if err := r.write(api.WithConsent(ctx, consent), w.send); err != nil {
			return err
		}
		for _, c := range evidence.Of(ctx).About("") {
			if c.Read && c.Open != "" {
				r.say("%s Until then opdeck sends nothing that repeats or undoes it.", c.Missing())
			}
		}
		return nil
	})
}

// confirm asks on the terminal. In a production context an irreversible act needs the end of the object's id.
func (r *root) confirm(ctx context.Context, w asked) error {
	if r.yes || r.dryRun || r.row.Ask == act.Nothing {
		return nil
	}
	w.object.With = func(name string) string { return "with opdeck " + (&act.Act{Name: name}).Path() }
	q := r.row.Words.Fill(w.object)
	for _, f := range w.facts {
		fmt.Fprintf(r.env.Err, "  %-14s %s\n", f.Label, safeText(f.Value))
	}
	for _, risk := range []string{q.Risk, w.risk, w.now} {
		if risk != "" {
			fmt.Fprintln(r.env.Err, safeText(risk))
		}
	}
	tail := lastRunes(w.typed, 4)
	typed := r.real && r.row.Ask == act.Typed && tail != ""
	switch {
	case typed:
		fmt.Fprintf(r.env.Err, "PRODUCTION. %s\nType the last characters of the %s, %s, to continue: ", safeText(q.Ask),
			cmp.Or(q.Of, "id"), oneLine(tail))
	case r.real:
		fmt.Fprintf(r.env.Err, "PRODUCTION. %s [y/N] ", safeText(q.Ask))
	default:
		fmt.Fprintf(r.env.Err, "%s [y/N] ", safeText(q.Ask))
	}
	line, err := readLine(ctx, bufio.NewReader(r.env.In))
	if err != nil && line == "" {
		return &api.Error{Kind: api.Interrupted, Public: "Not confirmed; nothing was sent."}
	}
	answer := strings.TrimSpace(line)
	if typed && answer == tail || !typed && (strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")) {
		return nil
	}
	return &api.Error{Kind: api.Usage, Public: "Not confirmed; nothing was sent."}
}
