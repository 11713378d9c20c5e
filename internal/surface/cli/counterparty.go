package cli

import (
	"context"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/internal/present"
)

var counterpartyCommands = commands{act.CounterpartyList: counterpartyListCommand, act.CounterpartyGet: counterpartyGetCommand}

func counterpartyListCommand(r *root) *cobra.Command {
	var q api.CounterpartyQuery
	columns := []string{"id", "name", "status", "accounts", "customer", "updated"}
	cmd := listsPage(r, field.Counterparties, columns, func(ctx context.Context, c *app.Client) (api.Page[api.Counterparty], error) {
		return c.Counterparties(ctx, q)
	})
	cmd.Flags().StringVar(&q.Name, "name", "", "part of the name")
	cmd.Flags().StringVar(&q.CUID, "customer", "", "id of the customer whose counterparties are listed")
	cmd.Flags().StringVar(&q.CustomerName, "customer-name", "", "that customer's name")
	pageFlags(cmd, &q.Page, &q.Size, "counterparties a page")
	return cmd
}

func counterpartyGetCommand(r *root) *cobra.Command {
	return prints(r, &cobra.Command{}, func(ctx context.Context, a *app.App, args []string, out one[api.Counterparty]) error {
		p, err := a.Client.Counterparty(ctx, args[0])
		if err != nil {
			return err
		}
		return out.card(p, card(present.Counterparty(present.Options{Masked: mask.Needed(ctx)}, p)))
	})
}
