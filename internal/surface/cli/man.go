package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"opdeck/api"
)

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
