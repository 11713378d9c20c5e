package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"opdeck/api"
	"opdeck/api/evidence"
	"opdeck/api/limit"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/eventfilter"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/internal/surface/console"
)

// makers make the commands of acts. Usage, arguments, help, role, read-only check, --yes and --dry-run come from the
// act's row.
var makers = map[*act.Act]func(*root) *cobra.Command{
	act.AccountList: accountListCommand, act.AccountGet: accountGetCommand,
	act.CounterpartyList: counterpartyListCommand, act.CounterpartyGet: counterpartyGetCommand,
	act.TariffLimits: tariffLimitsCommand, act.TariffCommissions: tariffCommissionsCommand,
	act.ApprovalList: approvalListCommand, act.ApprovalShow: approvalShowCommand,
	act.ApprovalApprove: approvalApproveCommand, act.ApprovalDeny: approvalDenyCommand,
	act.NoteAdd: noteAddCommand, act.NoteList: noteListCommand,
	act.NotifyTest: notifyTestCommand,
	act.AuditList:  auditListCommand, act.AuditVerify: auditVerifyCommand, act.AuditExport: auditExportCommand,
	act.AuditCheckpoint: auditCheckpointCommand, act.AuditUnsettled: auditUnsettledCommand,
	act.AuditSettle:     auditSettleCommand,
	act.ComplianceShare: complianceShareCommand, act.ComplianceLink: complianceLinkCommand,
	act.ComplianceFinalize: complianceFinalizeCommand, act.ComplianceJourney: complianceJourneyCommand,
	act.ConfigInit: configInitCommand, act.ConfigCheck: configCheckCommand, act.ConfigShow: configShowCommand,
	act.ConfigPath:   configPathCommand,
	act.CustomerList: customerListCommand, act.CustomerGet: customerGetCommand,
	act.CustomerApplication: customerApplicationCommand, act.CustomerFiles: customerFilesCommand,
	act.CustomerSetApplication: customerSetApplicationCommand, act.CustomerDeleteFile: customerDeleteFileCommand,
	act.DocumentList: documentListCommand, act.DocumentRemove: documentRemoveCommand,
	act.DocumentRestore: documentRestoreCommand, act.DocumentAttach: documentAttachCommand,
	act.DocumentUpload: documentUploadCommand, act.DocumentReplace: documentReplaceCommand,
	act.DocumentResume: documentResumeCommand, act.DocumentDownload: documentDownloadCommand,
	act.EventList: eventListCommand, act.EventShow: eventShowCommand, act.EventCodes: eventCodesCommand,
	act.EventReplay: eventReplayCommand,
	act.HookGet:     hookGetCommand, act.HookSet: hookSetCommand,
	act.IndexStatus: indexStatusCommand, act.IndexSync: indexSyncCommand, act.IndexVerify: indexVerifyCommand,
	act.IndexRebuild:  indexRebuildCommand,
	act.OperationList: operationListCommand, act.OperationGet: operationGetCommand,
	act.OperationTree: operationTreeCommand, act.OperationHistory: operationHistoryCommand,
	act.OperationExport: operationExportCommand, act.OperationReport: operationReportCommand,
	act.OperationTotals: operationTotalsCommand,
	act.SessionStatus:   sessionStatusCommand, act.SessionKeep: sessionKeepCommand,
	act.SessionRefresh: sessionRefreshCommand, act.SessionLogin: sessionLoginCommand,
	act.SessionReset: sessionResetCommand, act.SessionProxy: sessionProxyCommand, act.SessionExec: sessionExecCommand,
	act.Limits: limitsCommand, act.Doctor: doctorCommand, act.Check: checkCommand, act.Sandbox: sandboxCommand,
	act.Schema: newSchemaCommand, act.Backup: backupCommand, act.Restore: restoreCommand, act.Migrate: migrateCommand,
	act.Version: versionCommand, act.Completion: completionCommand, act.Man: manCommand,
}

// groups are the first words of grouped commands. The help adds the verbs to the short text.
var groups = map[string]struct {
	aliases []string
	short   string
}{
	"operation":    {[]string{"op"}, "Operations"},
	"document":     {[]string{"doc"}, "Documents of operations"},
	"customer":     {nil, "Customers and their applications"},
	"account":      {nil, "Customers' accounts with balances and requisites"},
	"counterparty": {nil, "Payees and the status of their accounts"},
	"tariff":       {nil, "Payment limits and commissions"},
	"compliance":   {[]string{"kyc"}, "A customer's verification"},
	"session":      {nil, "The one shared session"},
	"index":        {nil, "The local index of operations"},
	"event":        {[]string{"events"}, "Webhooks"},
	"hook":         {nil, "The service's webhook settings"},
	"audit":        {nil, "The audit trail"},
	"approval":     {nil, "Writes waiting for a second person"},
	"notify":       {nil, "Notices"},
	"note":         {nil, "Notes for colleagues"},
	"config":       {nil, "The config file"},
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
		cmd := r.applyRow(makers[row](r), row)
		if cmd.Example = exampleOf(row); parent.Example == "" && row.Ask == act.Nothing {
			parent.Example = cmd.Example
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

// asked is the question of a prepared write.
type asked struct {
	object act.Object
	typed  string         // the id whose end must be typed in a production context
	facts  []present.Fact // shown above the question
	risk   string         // more than the act's own
	now    string         // what a yes does, where a second person approves
	waits  string         // what it needs of the budgets, if it has to wait for them
}

// asks makes the body of a command with a confirmation: prepare reads what the question needs, sends nothing, and
// returns what sends.
func (r *root) asks(prepare func(ctx context.Context, a *app.App, args []string) (asked, func(context.Context) error,
	error)) func(*cobra.Command, []string) error {
	return r.do(func(ctx context.Context, a *app.App, args []string) error {
		needs := waits(ctx, a, r.row) // before what prepare reads, which counts
		w, send, err := prepare(ctx, a, args)
		if err != nil {
			return err
		}
		var consent api.Consent
		if consent, w.now, err = r.consent(ctx, a, w); err != nil {
			return err
		}
		switch {
		case r.dryRun:
		case r.yes && needs != "":
			r.waits(needs, false)
		default:
			w.waits = needs
		}
		if err := r.confirm(ctx, w); err != nil {
			return err
		}
		if err := r.write(api.WithConsent(ctx, consent), send); err != nil {
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

// waits says what an act needs of the budgets, if it has to wait for them; "" if not, or if they cannot be read.
func waits(ctx context.Context, a *app.App, row *act.Act) string {
	usage, err := a.Limits.Usage(ctx)
	if err != nil {
		return ""
	}
	return row.Waits(func(c limit.Class) []time.Duration {
		for _, u := range usage {
			if u.Class == c {
				return u.Ahead
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
		r.tell(fmt.Sprintf("  %-14s ", f.Label), safeText(f.Value))
	}
	for _, risk := range []string{q.Risk, w.risk, w.waits, w.now} {
		if risk != "" {
			r.tell("", safeText(risk))
		}
	}
	tail, typed := act.LastOf(w.typed), r.real && r.row.Ask == act.Typed && w.typed != ""
	switch {
	case typed && tail == "":
		return &api.Error{Kind: api.Usage, Hint: "Use --yes to confirm.", Public: "The end of the " +
			cmp.Or(q.Of, "id") + " cannot be typed, so it cannot be confirmed here. Nothing was sent."}
	case typed:
		fmt.Fprintf(r.env.Err, "PRODUCTION. %s\nType the last characters of the %s, %s, to continue: ", safeText(q.Ask),
			cmp.Or(q.Of, "id"), tail)
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

// Build describes the source of a program.
type Build struct {
	Release string // "1.4.0", or "dev"
	Commit  string // in full, with ".dirty" if there were uncommitted changes; empty: not known
	Built   string // RFC 3339; empty: not known
}

// word is release and short commit: "1.4.0+0123456789ab".
func (b Build) word() string {
	if b.Commit == "" {
		return b.Release
	}
	rev, dirty, _ := strings.Cut(b.Commit, ".")
	if dirty != "" {
		dirty = "." + dirty
	}
	return b.Release + "+" + rev[:min(len(rev), 12)] + dirty
}

// about describes the build in one line.
func (b Build) about(version string) string {
	line := "opdeck " + version
	if b.Commit != "" {
		line += ", commit " + b.Commit
	}
	if b.Built != "" {
		line += ", built " + b.Built
	}
	return line + ", " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH
}

// buildJSON is what this program was built from.
type buildJSON struct {
	Arch    string `json:"arch"`
	Built   string `json:"built"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Version string `json:"version"`
}

func versionCommand(r *root) *cobra.Command {
	cmd := &cobra.Command{Long: "Prints version, commit and build."}
	return alone(r, cmd, func(context.Context, []string) (record[buildJSON], error) {
		b := r.env.Build
		return line(buildJSON{runtime.GOARCH, b.Built, b.Commit, runtime.Version(), runtime.GOOS, r.env.Version},
			b.about(r.env.Version)), nil
	})
}

func completionCommand(r *root) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{ValidArgs: shells,
		Args: cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		Long: "Prints a script that completes commands, flags, contexts and ids. For example:\n\n" +
			"  bash:  source <(opdeck completion bash)\n" +
			"  zsh:   opdeck completion zsh > \"${fpath[1]}/_opdeck\"\n" +
			"  fish:  opdeck completion fish > ~/.config/fish/completions/opdeck.fish",
		RunE: func(cmd *cobra.Command, args []string) error {
			top, out := cmd.Root(), r.env.Out
			return map[string]func() error{
				"bash":       func() error { return bashCompletion(top, out) },
				"zsh":        func() error { return top.GenZshCompletion(out) },
				"fish":       func() error { return top.GenFishCompletion(out, true) },
				"powershell": func() error { return top.GenPowerShellCompletionWithDesc(out) },
			}[args[0]]()
		}}
}

// bashWords joins the words that bash splits at = and :, where the package bash-completion, which cobra's script needs,
// is not loaded.
const bashWords = `    if ! declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        local i line=$COMP_LINE
        words=() cword=0
        for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
            if ((i == 0)) || [[ $line == [[:space:]]* ]]; then
                words+=("${COMP_WORDS[i]}")
            else
                words[${#words[@]}-1]+=${COMP_WORDS[i]}
            fi
            line=${line#"${line%%[![:space:]]*}"}
            line=${line#"${COMP_WORDS[i]}"}
            ((i == COMP_CWORD)) && cword=$((${#words[@]} - 1))
        done
        cur=${words[cword]} prev=${words[cword > 0 ? cword - 1 : 0]}
        return 0
    fi
`

// bashCompletion writes the script for bash.
func bashCompletion(top *cobra.Command, out io.Writer) error {
	var b strings.Builder
	if err := top.GenBashCompletionV2(&b, true); err != nil {
		return err
	}
	const start = "    COMPREPLY=()\n    _get_comp_words_by_ref"
	script := strings.Replace(b.String(), start, "    COMPREPLY=()\n"+bashWords+"    _get_comp_words_by_ref", 1)
	_, err := io.WriteString(out, script)
	return err
}

// addCompletion registers the completion of arguments and flags. It makes no call: values come from the config, the
// index or the inbox.
func addCompletion(r *root, top *cobra.Command) error {
	words := func(list []string) cobra.CompletionFunc {
		return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
	}
	var orders []string
	for _, f := range index.SortFields {
		orders = append(orders, f, "-"+f)
	}
	flags := map[string]cobra.CompletionFunc{
		"operation --filter": r.completes(func(ctx context.Context, a *app.App, typed string) ([]string, error) {
			return continued(typed, a.Index.Suggest(ctx, typed, len(typed))), nil
		}, cobra.ShellCompDirectiveNoSpace),
		"operation --sort": words(orders), "operation --view": configured(r.viewNames),
		"event --filter": eventTerms, "event --type": words(eventfilter.Types()),
		"event --status": words(eventfilter.Statuses())}
	ids := map[string]cobra.CompletionFunc{"OPID": r.completes(operationIDs, 0), "OPID...": r.completes(operationIDs, 0),
		"HOOKID": r.completes(eventKeys, 0)}
	errs := []error{top.RegisterFlagCompletionFunc("context", configured(r.contextNames)),
		top.RegisterFlagCompletionFunc("output", words(outputs))}
	for _, group := range top.Commands() {
		for _, cmd := range group.Commands() {
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if fn := flags[group.Name()+" --"+f.Name]; fn != nil {
					errs = append(errs, cmd.RegisterFlagCompletionFunc(f.Name, fn))
				}
			})
			takes, _, _ := strings.Cut(strings.TrimPrefix(cmd.Use, cmd.Name()+" "), " ")
			if fn := ids[takes]; fn != nil {
				cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string,
					cobra.ShellCompDirective) {
					if len(args) > 0 && !strings.HasSuffix(takes, "...") {
						return nil, cobra.ShellCompDirectiveDefault
					}
					return fn(cmd, args, typed)
				}
			}
		}
	}
	return errors.Join(errs...)
}

// configured completes from the config.
func configured(read func() ([]string, error)) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		list, err := read()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// completes completes from the index or the inbox of the context.
func (r *root) completes(read func(context.Context, *app.App, string) ([]string, error),
	more cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		found, as := configured(func() (found []string, err error) {
			err = r.with(cmd.Context(), "completion", func(ctx context.Context, a *app.App) error {
				found, err = read(ctx, a, typed)
				return err
			})
			return found, err
		})(cmd, nil, typed)
		return found, as | more
	}
}

func (r *root) contextNames() ([]string, error) {
	cfg, err := r.loadConfig()
	names := append(slices.Collect(maps.Keys(cfg.Contexts)), "sandbox")
	slices.Sort(names)
	return slices.Compact(names), err
}

func (r *root) viewNames() (out []string, err error) {
	cfg, err := r.loadConfig()
	for _, name := range slices.Sorted(maps.Keys(cfg.Views)) {
		out = append(out, name+"\t"+oneLine(cfg.Views[name].Filter))
	}
	return out, err
}

// operationIDs completes an opid from the index.
func operationIDs(ctx context.Context, a *app.App, typed string) (found []string, err error) {
	expr := ""
	if typed != "" {
		expr = "id:" + typed
	}
	f, err := filter.Parse(expr)
	if err != nil {
		return nil, err
	}
	w, err := a.Index.Window(ctx, index.Query{Filter: f, Limit: 20}, a.Now())
	for _, row := range w.Rows {
		found = append(found, row.Op.OPID.Line(64)+"\t"+row.Op.Status.Line(20)+" "+format.Money(row.Op.SourceAmount.Sum))
	}
	return found, err
}

// eventKeys completes an event's id with the newest ones of the inbox.
func eventKeys(ctx context.Context, a *app.App, typed string) (out []string, err error) {
	events, err := a.Hooks().Inbox().List(ctx, receiver.Filter{Limit: 100})
	for _, s := range events {
		if strings.HasPrefix(s.Key, typed) && len(out) < 20 {
			out = append(out, oneLine(s.Key)+"\t"+s.Type.String()+" "+s.ObjectID.Line(64)+", "+string(s.Status))
		}
	}
	return out, err
}

// continued returns the suggestions that extend typed at its end.
func continued(typed string, ways []filter.Suggestion) []string {
	return mapped(ways, func(w filter.Suggestion) string {
		return strings.TrimSuffix(typed[:w.From]+w.Text+"\t"+w.Help, "\t")
	})
}

func eventTerms(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return continued(typed, eventfilter.Table().Complete(typed, len(typed), nil)),
		cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// manCommand prints the manual page of a command: as text on a terminal, without a pager, and else in man's own format.
// --dir writes the pages of all commands to a folder: opdeck-operation-list.1 for that command.
func manCommand(r *root) *cobra.Command {
	var dir string
	cmd := &cobra.Command{Long: "Prints the manual page of opdeck or of a command: on a terminal as text, and into a " +
		"pipe in the format of man (opdeck man operation list | man -l -). It writes no file.\n\n" +
		"--dir writes the pages of all commands to a folder, for packages.",
		RunE: func(cmd *cobra.Command, args []string) error {
			top := cmd.Root()
			top.DisableAutoGenTag = true
			head := &doc.GenManHeader{Section: "1", Source: "opdeck " + r.env.Version, Manual: "opdeck"}
			if dir != "" {
				if len(args) > 0 {
					return usageOf(cmd, "--dir writes the pages of all commands and takes no command")
				}
				if err := os.MkdirAll(dir, 0o755); err != nil {
					return &api.Error{Kind: api.Usage, Public: "The folder for the pages cannot be created.", Err: err}
				}
				asMarkdown(top)
				return doc.GenManTree(top, head, dir)
			}
			of, err := found(top, args)
			if err != nil {
				return err
			}
			if r.env.OutTTY {
				name := strings.ReplaceAll(of.CommandPath(), " ", "-")
				_, err = fmt.Fprintf(r.env.Out, "%s(1)\n\n%s - %s\n\n%s", name, name, of.Short, helpOf(of))
				return err
			}
			asMarkdown(top)
			return doc.GenMan(of, head, r.env.Out)
		}}
	cmd.Flags().StringVar(&dir, "dir", "", "write the pages of all commands to this folder")
	return cmd
}

// asMarkdown makes the texts of the help what the pages are made from: text in columns stays as it is.
func asMarkdown(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		asMarkdown(sub)
	}
	var b strings.Builder
	columns := false
	for line := range strings.Lines(cmd.Long) {
		if now := lastColumn(strings.TrimRight(line, "\n")) > 0; now != columns {
			columns = now
			b.WriteString("\n")
		}
		if columns {
			b.WriteString("    " + line)
		} else {
			b.WriteString(strings.NewReplacer("<", `\<`, "*", `\*`).Replace(line))
		}
	}
	cmd.Long = b.String()
}

// console runs the console, and again for each context that the person switches to. If one cannot be opened, it
// returns to the previous one.
func (r *root) console(ctx context.Context) error {
	if !r.plain && r.env.Console == nil {
		return usage("the console needs a terminal; use --plain without one, or see opdeck --help for the commands")
	}
	before, switched, notice, in := "", false, "", lineByLine{bufio.NewReader(r.env.In)}
	for {
		opened, err := r.consoleOn(ctx, in, notice)
		var next *console.SwitchContext
		switch {
		case errors.As(err, &next):
			before, switched, notice, r.context = r.context, true, "", next.Name
		case err != nil && !opened && switched:
			notice = "Context " + safeText(r.context) + " cannot be opened. " + asError(err).Public
			switched, r.context = false, before
		default:
			return err
		}
	}
}

// consoleOn runs the console on the current context; it shows notice first.
func (r *root) consoleOn(ctx context.Context, in io.Reader, notice string) (opened bool, err error) {
	err = r.with(ctx, "console", func(ctx context.Context, a *app.App) error {
		opened = true
		if err := a.Audit.Unrecorded(); err != nil && notice == "" {
			notice = keyless(err)
		}
		if r.plain {
			return console.RunPlain(ctx, a, console.PlainOptions{In: in, Out: r.env.Out, Width: r.env.OutWidth,
				Getenv: r.env.Getenv, Secret: r.env.Secret, Notice: notice})
		}
		r.drawn.Store(true)
		defer r.drawn.Store(false)
		err := r.env.Console(ctx, a, ConsoleOptions{NoColor: r.noColor || os.Getenv("NO_COLOR") != "", Notice: notice})
		if err == nil && a.Config.Path == "" && a.Context.Sandbox {
			sayNextSteps(r, a.State)
		}
		return err
	})
	return opened, err
}

// lineByLine returns at most one line per Read, so that the console of one context does not consume input for the
// next.
type lineByLine struct{ r *bufio.Reader }

func (l lineByLine) Read(p []byte) (int, error) {
	for n := range p {
		b, err := l.r.ReadByte()
		if err != nil {
			return n, err
		}
		p[n] = b
		if b == '\n' || l.r.Buffered() == 0 {
			return n + 1, nil
		}
	}
	return len(p), nil
}
