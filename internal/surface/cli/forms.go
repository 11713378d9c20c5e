package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// outputs are the values of --output.
var outputs = []string{"table", "json", "jsonl", "csv"}

// formsKey annotates a command with the forms it has beside table and json.
const formsKey = "opdeck.forms"

// lists marks a command whose answer is a list: it has jsonl and csv too.
func lists(cmd *cobra.Command) *cobra.Command { return forms(cmd, "jsonl", "csv") }

// forms marks a command that has these forms beside table and json.
func forms(cmd *cobra.Command, names ...string) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[formsKey] = strings.Join(names, " ")
	return cmd
}

// checkOutput refuses forms that do not exist or that the command has not.
func (r *root) checkOutput(cmd *cobra.Command) error {
	want := r.output
	if !slices.Contains(outputs, want) {
		r.output = "table"
		return usage("--output must be table, json, jsonl or csv, not %q", want)
	}
	if want == "table" || want == "json" || slices.Contains(strings.Fields(cmd.Annotations[formsKey]), want) {
		return nil
	}
	if want == "csv" {
		r.output = "table"
	}
	return usage("%s has no %s; --output can be table or json here", path(cmd), want)
}

// wanted finds --output before the command line is parsed, so that a mistake in
// the command line itself is told in the form that was asked for.
func wanted(args []string) string {
	for i, a := range args {
		v, ok := "", false
		switch {
		case a == "--":
			return "table"
		case a == "-o" || a == "--output":
			if i+1 < len(args) {
				v, ok = args[i+1], true
			}
		case strings.HasPrefix(a, "--output="):
			v, ok = strings.TrimPrefix(a, "--output="), true
		case strings.HasPrefix(a, "-o") && !strings.HasPrefix(a, "--"):
			v, ok = strings.TrimPrefix(strings.TrimPrefix(a, "-o"), "="), true
		}
		if ok && slices.Contains(outputs, v) {
			return v
		}
	}
	return "table"
}

// helpCommand is opdeck help COMMAND; cobra's own says nothing wrong about a
// command that does not exist.
func helpCommand() *cobra.Command {
	return &cobra.Command{Use: "help [COMMAND]", Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			cmd, rest, err := c.Root().Find(args)
			if cmd == nil || err != nil || len(rest) > 0 {
				return usage("there is no command %q", strings.Join(args, " "))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		}}
}
