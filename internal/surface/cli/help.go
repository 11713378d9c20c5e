package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opdeck/api"
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

// examples are the command lines that say more than the name and the arguments of a command do.
var examples = map[string]string{
	"opdeck":                   "opdeck -c sandbox",
	"operation list":           "opdeck operation list --filter 'status:PENDING amount>=1000' --sort -amount",
	"operation get":            "opdeck operation get 62387cd9-6926-45b3-bf48-8a53f850c0b8 -o json",
	"operation totals":         "opdeck operation totals --by customer,month --filter currency:EUR",
	"operation export":         "opdeck operation export --filter 'updated>2026-11-01' november.csv",
	"operation report":         "opdeck operation report report.xlsx",
	"note add":                 "opdeck note add OPID the bank asks for the invoice",
	"document download":        "opdeck document download DrAG8VQ-cgGo-eqmsJNK372AS f-7 passport.pdf",
	"document remove":          "opdeck document remove OPID DOCID --dry-run",
	"document attach":          "opdeck document attach OPID DOCID --name invoice.pdf",
	"document upload":          "opdeck document upload invoice.pdf --customer DrAG8VQ-cgGo-eqmsJNK372AS",
	"document replace":         "opdeck document replace OPID DOCID invoice.pdf",
	"customer list":            "opdeck customer list --filter status:VERIFY,MODERATION",
	"customer application":     "opdeck customer application DrAG8VQ-cgGo-eqmsJNK372AS -o json",
	"customer set-application": "opdeck customer set-application CUID application.json --dry-run",
	"account list":             "opdeck account list -o csv",
	"tariff commissions":       "opdeck tariff commissions --from EUR",
	"compliance share":         "opdeck compliance share DrAG8VQ-cgGo-eqmsJNK372AS --token-file token",
	"compliance link":          "opdeck compliance link DrAG8VQ-cgGo-eqmsJNK372AS --qr",
	"session":                  "opdeck session status",
	"session status":           "opdeck session status --check --warn 60s --crit 15s",
	"session keep":             "opdeck session keep -c stage",
	"session proxy":            "opdeck session proxy --socket /run/user/1000/opdeck.sock",
	"session exec":             "opdeck session exec --as nightly -- ./report.sh",
	"limits":                   "opdeck limits -o json",
	"index sync":               "opdeck index sync --wait",
	"event list":               "opdeck event list --type OPERATION",
	"hook set":                 "opdeck hook set --url https://hooks.example.com/hooks --dry-run",
	"audit list":               "opdeck audit list --event 'document.*' --limit 20",
	"audit verify":             "opdeck audit verify --against monday.note",
	"audit checkpoint":         "opdeck audit checkpoint > monday.note",
	"audit export":             "opdeck audit export trail.jsonl",
	"audit unsettled":          "opdeck audit unsettled --settle",
	"audit settle":             "opdeck audit settle REF --note 'the document is still attached'",
	"check":                    "opdeck check -c stage",
	"backup":                   "opdeck backup /backups/opdeck-2026-01-31.opdeck",
	"restore":                  "opdeck restore /backups/opdeck-2026-01-31.opdeck --reason 'disk failed'",
	"config check":             "opdeck config check /etc/opdeck/config.toml",
	"serve":                    "opdeck serve -c stage",
	"sandbox":                  "opdeck sandbox --addr 127.0.0.1:8787 --operations 10000",
	"completion":               "source <(opdeck completion bash)",
	"man":                      "opdeck man operation list",
	"help":                     "opdeck help operation list",
}

// samples are the arguments of an example.
var samples = map[string]string{"OPID": "62387cd9-6926-45b3-bf48-8a53f850c0b8", "CUID": "DrAG8VQ-cgGo-eqmsJNK372AS",
	"HOOKID": "7f1c1f0e-8a4b-4c8e-9d4f-0c6f5f6a7b8d", "FILEID": "f-7"}

// rank orders the commands below another one by how well they show what it is for.
func rank(cmd *cobra.Command) int {
	verbs := []string{"list", "status", "get", "journey", "init"}
	if i := slices.Index(verbs, cmd.Name()); i >= 0 {
		return i
	}
	return len(verbs)
}

// exampleOf is an example of cmd: the one above; for a command with others below it one of theirs, a list if there is
// one; else its name with the arguments that it needs.
func exampleOf(cmd *cobra.Command) string {
	if line := examples[path(cmd)]; line != "" {
		return line
	}
	if subs := cmd.Commands(); len(subs) > 0 {
		return exampleOf(slices.MinFunc(subs, func(a, b *cobra.Command) int { return cmp.Compare(rank(a), rank(b)) }))
	}
	line := "opdeck " + path(cmd)
	for _, arg := range strings.Fields(cmd.Use)[1:] {
		if !strings.HasPrefix(arg, "[") {
			line += " " + cmp.Or(samples[arg], arg)
		}
	}
	return line
}

// describe completes the commands below top for the help and the manual pages: groups, examples, and the verbs of a
// command with others below it.
func describe(top *cobra.Command) {
	for _, g := range helpGroups {
		top.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
	}
	describeOne(top)
	for _, cmd := range top.Commands() {
		cmd.GroupID = groupOf(cmd)
		if verbs := available(cmd); len(verbs) > 0 {
			cmd.Short += ": " + strings.Join(verbs, ", ")
		}
		describeOne(cmd)
		for _, sub := range cmd.Commands() {
			describeOne(sub)
		}
	}
}

func describeOne(cmd *cobra.Command) { cmd.Example = "  " + exampleOf(cmd) }

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
	if cmd.Example != "" {
		b.WriteString("\nExample:\n" + cmd.Example + "\n")
	}
	if cmd.HasParent() {
		b.WriteString("\nopdeck --help lists the flags of every command.\n")
	}
	return b.String()
}

// helpCommands lists the commands below cmd, at the root by group.
func helpCommands(b *strings.Builder, cmd *cobra.Command) {
	wide := 0
	for _, name := range available(cmd) {
		wide = max(wide, len(name))
	}
	list := func(title string, in func(*cobra.Command) bool) {
		for _, s := range cmd.Commands() {
			if !s.IsAvailableCommand() || !in(s) {
				continue
			}
			if title != "" {
				b.WriteString("\n" + title + ":\n")
				title = ""
			}
			b.WriteString(hanging("  "+draw.Pad(s.Name(), wide)+"  "+s.Short, wide+4) + "\n")
		}
	}
	if cmd.HasParent() {
		list("Commands", func(*cobra.Command) bool { return true })
		return
	}
	for _, g := range helpGroups {
		list(g.title, func(s *cobra.Command) bool { return groupOf(s) == g.title })
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

// flowed is a text in paragraphs of at most helpWidth cells. Lines with an indent, or in columns, stay lines.
func flowed(text string) string {
	var out []string
	joined := ""
	end := func() {
		if joined != "" {
			out = append(out, draw.Wrap(joined, helpWidth)...)
		}
		joined = ""
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		switch at := lastColumn(line); {
		case line == "":
			end()
			out = append(out, "")
		case at > 0:
			end()
			out = append(out, hanging(line, at))
		default:
			joined = strings.TrimSpace(joined + " " + line)
		}
	}
	end()
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
