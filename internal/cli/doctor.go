package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/app"
)

func (r *root) doctorCommand() *cobra.Command {
	var login bool
	cmd := &cobra.Command{Use: "doctor", Short: "Look at each step between here and the service", Args: cobra.NoArgs,
		Long: "Looks at config, name lookup, TLS, clock, store, session, budget, audit trail and webhook\n" +
			"feed: one line each, without secrets. Exit 1 when something is wrong. Nothing is sent but\n" +
			"one request without a login, which reads the service's clock; --login also makes a session\n" +
			"when there is none.",
		RunE: func(cmd *cobra.Command, _ []string) error { return r.doctor(cmd.Context(), r.appOptions(), login) }}
	cmd.Flags().BoolVar(&login, "login", false, "log in when there is no session")
	return cmd
}

// doctor prints the findings; exit 1 when something is wrong.
func (r *root) doctor(ctx context.Context, opt app.Options, login bool) error {
	if r.env.App != nil {
		ctx = api.WithActor(ctx, r.env.Actor)
	}
	all := []app.Finding{}
	well := app.Doctor(ctx, opt, r.env.App, login, func(f app.Finding) {
		all = append(all, f)
		if r.output == "table" {
			r.printFinding(f)
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.output != "table" {
		if err := r.printJSON(map[string]any{"ok": well, "findings": all}); err != nil {
			return err
		}
	}
	if !well {
		return exitError(1)
	}
	return nil
}

var healthSigns = map[app.Health]string{app.Healthy: "✓ ok     ", app.Warned: "! warning", app.Sick: "✗ failed ", app.Skipped: "– skipped"}

func (r *root) printFinding(f app.Finding) {
	line := f.Text
	if f.Hint != "" {
		line = strings.TrimRight(line, ".") + ". " + f.Hint
	}
	fmt.Fprintf(r.env.Out, "%s  %-11s  %s\n", healthSigns[f.Health], f.Name, oneLine(line))
}
