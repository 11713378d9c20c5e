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
		"feed: one line each, without secrets. Exit 1 when something is wrong. It sends one\n" +
		"request without a login, to read the service's clock. When there is a session, it also sends one\n" +
		"general call, to see whether the account has two-factor login on. --login logs in when there is\n" +
		"no session.\n\n" +
		"--deep also logs in. It reads a page of each list, one record of each kind and the webhook\n" +
		"settings, and shows how the service's answers differ from what opdeck expects: names of fields\n" +
		"and kinds of values, never a value, and the lines of [service] that fix it. It costs two billing\n" +
		"calls, two general calls and four customer calls; one more billing call for a list with several\n" +
		"pages, up to ten where its pages cannot be followed; and up to two more customer calls when the\n" +
		"service does not take GET for one customer. It repeats a failed read once."}
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

// doctorJSON is the report of the doctor.
type doctorJSON struct {
	Findings []app.Finding `json:"findings"`
	OK       bool          `json:"ok"`
}

// runDoctor prints the findings; exit 1 if something is wrong.
func runDoctor(r *root, ctx context.Context, opt app.Options, depth app.Depth, out one[doctorJSON]) error {
	if r.env.App != nil {
		ctx = api.WithActor(ctx, r.env.Actor)
	} else if err := app.Owned(opt); err != nil {
		return err
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
