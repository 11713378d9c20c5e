package cli

import (
	"context"

	"github.com/spf13/cobra"

	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/notify"
)

var notifyCommands = commands{act.NotifyTest: notifyTestCommand}

func notifyTestCommand(r *root) *cobra.Command {
	cmd := &cobra.Command{Long: "Sends a notice that is marked as a test to the command or address of [notify],\n" +
		"once and at once, from this host. The exit code is 1 if the receiver did not take it."}
	return prints(r, cmd, func(ctx context.Context, a *app.App, _ []string, out one[notify.Notice]) error {
		n, err := app.NoticesOf(a).Try(ctx, r.env.Getenv)
		if err != nil {
			return err
		}
		return out.report(n, "Sent: test notice %s to %s.", n.ID, a.Config.Notify.To())
	})
}
