package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"opdeck/api"
)

// manCommand shows the manual page to a person, prints its source for a program, or writes the pages of all commands
// to a folder: opdeck-operation-list.1 for that command.
func manCommand(r *root) *cobra.Command {
	return &cobra.Command{RunE: func(cmd *cobra.Command, args []string) error {
		top := cmd.Root()
		top.DisableAutoGenTag = true
		head := &doc.GenManHeader{Title: "OPDECK", Section: "1", Source: "opdeck " + r.env.Version, Manual: "opdeck"}
		if len(args) == 0 {
			var page bytes.Buffer
			if err := doc.GenMan(top, head, &page); err != nil {
				return err
			}
			if r.env.OutTTY {
				return showPage(r, cmd.Context(), page.Bytes())
			}
			_, err := r.env.Out.Write(page.Bytes())
			return err
		}
		if err := os.MkdirAll(args[0], 0o755); err != nil {
			return &api.Error{Kind: api.Usage, Public: "The folder for the pages cannot be created.", Err: err}
		}
		head.Title = ""
		return doc.GenManTree(top, head, args[0])
	}}
}

// showPage shows a manual page on the terminal: with man if installed, else as text, through $PAGER if set.
func showPage(r *root, ctx context.Context, page []byte) error {
	text := []byte(manText(string(page)))
	show := func(in []byte, args ...string) error {
		c := exec.CommandContext(ctx, args[0], args[1:]...)
		c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(in), r.env.Out, io.Discard
		return c.Run()
	}
	err := show(page, "man", "-l", "-")
	if pager := r.env.Getenv("PAGER"); err != nil && ctx.Err() == nil && pager != "" {
		err = show(text, "sh", "-c", pager)
	}
	if err != nil && ctx.Err() == nil {
		_, err = r.env.Out.Write(text)
	}
	return err
}

// manText converts a manual page to lines of text.
func manText(page string) string {
	escapes := strings.NewReplacer(`\fB`, "", `\fI`, "", `\fP`, "", `\fR`, "", `\-`, "-", `\&`, "", `\(aq`, "'", `\~`, " ",
		`\e`, `\`, `\\`, `\`)
	var b strings.Builder
	blank := true // only empty lines since the last text
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		title, section := strings.CutPrefix(line, ".SH ")
		switch {
		case section:
			line = title
		case strings.HasPrefix(line, ".") || strings.HasPrefix(line, `'\"`):
			line = ""
		case line != "":
			line = "    " + line
		}
		if line == "" && blank {
			continue
		}
		blank = line == ""
		b.WriteString(escapes.Replace(line) + "\n")
	}
	return b.String()
}
