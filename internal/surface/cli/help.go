package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opdeck/api"
	"opdeck/internal/act"
	"opdeck/internal/domain/index/filter"
	"opdeck/ui/draw"
)

// helpWidth is the most cells of a line of the help.
const helpWidth = 80

// helpGroups are the headings of the commands; those that no heading names are under the last one.
var helpGroups = []struct {
	title string
	names []string
}{
	{"Operations and customers", []string{"operation", "document", "customer", "account", "counterparty", "tariff",
		"compliance", "note"}},
	{"Session and limits", []string{"session", "limits", "index"}},
	{"Events and audit", []string{"event", "hook", "audit", "approval"}},
	{"Running opdeck", nil},
}

// groupOf is the heading of a command.
func groupOf(cmd *cobra.Command) string {
	for _, g := range helpGroups {
		if slices.Contains(g.names, cmd.Name()) {
			return g.title
		}
	}
	return helpGroups[len(helpGroups)-1].title
}

// examples have a command line that shows more than the command with its arguments.
var examples = map[string]string{
	"operation.list":     "operation list --filter 'status:PENDING amount>=1000' --sort -amount",
	"operation.get":      "operation get 62387cd9-6926-45b3-bf48-8a53f850c0b8 -o json",
	"operation.totals":   "operation totals --by customer,month --filter currency:EUR",
	"operation.export":   "operation export --filter 'updated>2026-11-01' november.csv",
	"note.add":           "note add OPID the bank asks for the invoice",
	"document.download":  "document download DrAG8VQ-cgGo-eqmsJNK372AS f-7 passport.pdf",
	"document.remove":    "document remove OPID DOCID --dry-run",
	"document.attach":    "document attach OPID DOCID --name invoice.pdf",
	"document.upload":    "document upload invoice.pdf --customer DrAG8VQ-cgGo-eqmsJNK372AS",
	"customer.list":      "customer list --filter status:VERIFY,MODERATION",
	"tariff.commissions": "tariff commissions --from EUR",
	"compliance.share":   "compliance share DrAG8VQ-cgGo-eqmsJNK372AS --token-file token",
	"compliance.link":    "compliance link DrAG8VQ-cgGo-eqmsJNK372AS --qr",
	"session.status":     "session status --check --warn 60s --crit 15s",
	"session.proxy":      "session proxy --socket /run/user/1000/opdeck.sock",
	"session.exec":       "session exec --as nightly -- ./report.sh",
	"index.sync":         "index sync --wait",
	"event.list":         "event list --type OPERATION",
	"hook.set":           "hook set --url https://hooks.example.com/hooks --dry-run",
	"audit.list":         "audit list --event 'document.*' --limit 20",
	"audit.verify":       "audit verify --against monday.note",
	"audit.checkpoint":   "audit checkpoint > monday.note",
	"audit.export":       "audit export trail.jsonl",
	"audit.unsettled":    "audit unsettled --settle",
	"audit.settle":       "audit settle REF --note 'the document is still attached'",
	"check":              "check -c stage",
	"backup":             "backup /backups/opdeck-2026-01-31.opdeck",
	"restore":            "restore /backups/opdeck-2026-01-31.opdeck --reason 'disk failed'",
	"config.check":       "config check /etc/opdeck/config.toml",
	"sandbox":            "sandbox --addr 127.0.0.1:8787 --operations 10000",
	"completion":         "completion bash",
	"man":                "man operation list",
}

// samples are arguments in examples.
var samples = map[string]string{"OPID": "62387cd9-6926-45b3-bf48-8a53f850c0b8", "CUID": "DrAG8VQ-cgGo-eqmsJNK372AS",
	"HOOKID": "7f1c1f0e-8a4b-4c8e-9d4f-0c6f5f6a7b8d", "FILEID": "f-7"}

// exampleOf is a command line of an act: without one of its own, its command with the arguments that it needs.
func exampleOf(row *act.Act) string {
	words := []string{row.Path()}
	for _, a := range row.Args {
		if !a.Optional {
			words = append(words, cmp.Or(samples[a.Name], a.Name))
		}
	}
	return "  opdeck " + cmp.Or(examples[row.Name], strings.Join(words, " "))
}

// describe completes the commands below top for the help and the manual pages: headings, and the verbs of a command
// with others below it.
func describe(top *cobra.Command) {
	for _, g := range helpGroups {
		top.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
	}
	for _, cmd := range top.Commands() {
		cmd.GroupID = groupOf(cmd)
		if verbs := available(cmd); len(verbs) > 0 {
			cmd.Short += ": " + strings.Join(verbs, ", ")
		}
	}
}

// available lists the names of the commands below cmd.
func available(cmd *cobra.Command) []string {
	var out []string
	for _, s := range cmd.Commands() {
		if s.IsAvailableCommand() {
			out = append(out, s.Name())
		}
	}
	return out
}

// help prints what a command does.
func help(cmd *cobra.Command, _ []string) { fmt.Fprint(cmd.OutOrStdout(), helpOf(cmd)) }

// helpOf is what a command does. The flags of every command are at the root only.
func helpOf(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	text := cmp.Or(cmd.Long, cmd.Short)
	if cmd.Long == "" {
		text += "."
	}
	b.WriteString(flowed(text) + "\n\nUsage:\n")
	if !cmd.HasParent() || !cmd.HasAvailableSubCommands() {
		b.WriteString(hanging("  "+cmd.UseLine(), 4) + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("  " + cmd.CommandPath() + " COMMAND\n")
	}
	if len(cmd.Aliases) > 0 {
		b.WriteString("\nAlso: " + strings.Join(cmd.Aliases, ", ") + "\n")
	}
	helpCommands(&b, cmd)
	flags := cmd.LocalFlags()
	if cmd.HasParent() {
		flags = cmd.LocalNonPersistentFlags()
	}
	helpFlags(&b, flags)
	b.WriteString("\nExample:\n" + cmd.Example + "\n")
	if cmd.HasParent() {
		b.WriteString("\nopdeck --help lists the flags of every command.\n")
	}
	return b.String()
}

// helpCommands lists the commands below cmd, at the root by heading.
func helpCommands(b *strings.Builder, cmd *cobra.Command) {
	groups := cmd.Groups()
	if groups == nil && cmd.HasSubCommands() {
		groups = []*cobra.Group{{Title: "Commands"}}
	}
	for _, g := range groups {
		b.WriteString("\n" + g.Title + ":\n")
		for _, s := range cmd.Commands() {
			if wide := s.NamePadding(); s.IsAvailableCommand() && s.GroupID == g.ID {
				b.WriteString(hanging("  "+draw.Pad(s.Name(), wide)+"  "+s.Short, wide+4) + "\n")
			}
		}
	}
}

// helpFlags lists flags with what they take.
func helpFlags(b *strings.Builder, flags *pflag.FlagSet) {
	names, texts, wide := []string{}, []string{}, 0
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		takes, text := pflag.UnquoteUsage(f)
		name := "    --" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", --" + f.Name
		}
		if f.Value.Type() != "bool" {
			if name += " " + takes; !slices.Contains([]string{"", "0", "[]", "0s"}, f.DefValue) &&
				!strings.Contains(text, "(default") {
				text += " (default " + f.DefValue + ")"
			}
		}
		names, texts, wide = append(names, name), append(texts, text), max(wide, len(name))
	})
	for i, name := range names {
		if i == 0 {
			b.WriteString("\nFlags:\n")
		}
		b.WriteString(hanging("  "+draw.Pad(name, wide)+"  "+texts[i], wide+4) + "\n")
	}
}

// hanging breaks a line at words; what follows is indented.
func hanging(line string, indent int) string {
	if draw.Width(line) <= helpWidth {
		return line
	}
	first := draw.Wrap(line[indent:], helpWidth-indent)
	return line[:indent] + strings.Join(first, "\n"+strings.Repeat(" ", indent))
}

// flowed is a text in lines of at most helpWidth cells. What continues a line in columns stands in its last one.
func flowed(text string) string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		out = append(out, hanging(line, lastColumn(line)))
	}
	return strings.Join(out, "\n")
}

// lastColumn is where the last column of a line in columns begins, with room for a text behind it; 0: no columns.
func lastColumn(line string) int {
	at := len(line) - len(strings.TrimLeft(line, " "))
	for i := at + 2; i < len(line) && i <= helpWidth-18; i++ {
		if line[i-2:i] == "  " && line[i] != ' ' {
			at = i
		}
	}
	return at
}

// unknown is the error for a name that does not exist; names are those that do.
func unknown(c *cobra.Command, what, name string, names []string) error {
	if like := filter.Nearest(strings.TrimLeft(name, "-"), names); like != "" {
		if strings.HasPrefix(name, "--") {
			like = "--" + like
		}
		what += fmt.Sprintf(". Did you mean %q?", like)
	} else if c.HasSubCommands() && !strings.HasPrefix(name, "-") {
		what += ". Use one of " + strings.Join(names, ", ")
	}
	return usageOf(c, "%s", what)
}

// usageOf is a mistake in the command line of a command, whose help says more.
func usageOf(c *cobra.Command, format string, args ...any) error {
	return &api.Error{Kind: api.Usage, Public: fmt.Sprintf(format, args...),
		Hint: "See " + c.CommandPath() + " --help."}
}
