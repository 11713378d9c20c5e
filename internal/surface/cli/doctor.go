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
	var login bool
	cmd := &cobra.Command{Long: "Checks config, name lookup, TLS, clock, store, session, budget, audit trail and " +
		"webhook\n" +
		"feed: one line each, without secrets. Exit 1 when something is wrong. It sends one\n" +
		"request without a login, to read the service's clock. When there is a session, it also sends one\n" +
		"general call, to see whether the account has two-factor login on, and reads a page of operations,\n" +
		"customers and accounts (a billing, a customer and an account call): it says what of them it did\n" +
		"not understand, with the key of [service] that decides it. --login logs in when there is no\n" +
		"session."}
	alone(r, cmd, func(ctx context.Context, _ []string, out one[doctorJSON]) error {
		return runDoctor(r, ctx, r.appOptions(), login, out)
	})
	cmd.Flags().BoolVar(&login, "login", false, "log in when there is no session")
	return cmd
}

// doctorJSON is the report of the doctor.
type doctorJSON struct {
	Findings []app.Finding `json:"findings"`
	OK       bool          `json:"ok"`
}

// runDoctor prints the findings; exit 1 if something is wrong.
func runDoctor(r *root, ctx context.Context, opt app.Options, login bool, out one[doctorJSON]) error {
	if r.env.App != nil {
		ctx = api.WithActor(ctx, r.env.Actor)
	} else if err := app.Owned(opt); err != nil {
		return err
	}
	var found doctorJSON
	found.OK = app.Doctor(ctx, opt, r.env.App, login, func(f app.Finding) {
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
}
