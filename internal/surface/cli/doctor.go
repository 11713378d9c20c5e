package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/app"
)

func doctorCommand(r *root) *cobra.Command {
	var login, deep bool
	cmd := &cobra.Command{Long: "Checks config, name lookup, TLS, clock, store, session, budget, audit trail and " +
		"webhook\n" +
		"feed: one line each, without secrets. Exit 1 when something is wrong. Sent are one\n" +
		"request without a login, which reads the service's clock, and where a session lives one general\n" +
		"call, which shows whether the account has two-factor login on; --login also makes a session\n" +
		"when there is none.\n\n" +
		"--deep makes a session too and reads a page of each list, one record of each kind and the\n" +
		"webhook settings, and shows how the service's answers differ from what opdeck expects:\n" +
		"names of fields and kinds of values, never a value, and the lines of [service] that would mend\n" +
		"it. It costs two billing calls, two general calls and four customer calls; one billing call\n" +
		"more where a list has more than one page, up to ten where its pages do not lead on; up to two\n" +
		"customer calls more where the service does not take GET for one customer. A failed read is\n" +
		"tried once more."}
	alone(r, cmd, func(ctx context.Context, _ []string, out one[doctorJSON]) error {
		depth := app.Shallow
		switch {
		case deep:
			depth = app.Deep
		case login:
			depth = app.WithLogin
		}
		return runDoctor(r, ctx, r.appOptions(), depth, out)
	})
	cmd.Flags().BoolVar(&login, "login", false, "log in when there is no session")
	cmd.Flags().BoolVar(&deep, "deep", false, "log in, read a page of each list and show how the service's answers differ")
	return cmd
}

// doctorJSON is what a look at each step found.
type doctorJSON struct {
	Findings []app.Finding `json:"findings"`
	OK       bool          `json:"ok"`
}

// runDoctor prints the findings; exit 1 when something is wrong.
func runDoctor(r *root, ctx context.Context, opt app.Options, depth app.Depth, out one[doctorJSON]) error {
	if r.env.App != nil {
		ctx = api.WithActor(ctx, r.env.Actor)
	}
	var found doctorJSON
	found.OK = app.Doctor(ctx, opt, r.env.App, depth, func(f app.Finding) {
		found.Findings = append(found.Findings, f)
		if r.output == "table" {
			printFinding(r, f)
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := out.text(found, ""); err != nil {
		return err
	}
	if !found.OK {
		return exitError(1)
	}
	return nil
}

var healthSigns = map[app.Health]string{app.Healthy: "✓ ok     ", app.Warned: "! warning", app.Failed: "✗ failed ",
	app.Skipped: "– skipped"}

func printFinding(r *root, f app.Finding) {
	line := f.Text
	if f.Hint != "" {
		line = strings.TrimRight(line, ".") + ". " + f.Hint
	}
	fmt.Fprintf(r.env.Out, "%s  %-11s  %s\n", healthSigns[f.Health], f.Name, oneLine(line))
	for _, l := range f.Differs {
		fmt.Fprintf(r.env.Out, "%s  %-11s  differs: %s\n", strings.Repeat(" ", 9), "", oneLine(l))
	}
	for _, l := range f.Settings {
		fmt.Fprintln(r.env.Out, oneLine(l))
	}
}
