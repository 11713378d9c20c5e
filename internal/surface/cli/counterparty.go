package cli

import (
	"context"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/field"
	"opdeck/internal/present"
)

var counterpartyCommands = commands{act.CounterpartyList: counterpartyListCommand,
	act.CounterpartyGet: counterpartyGetCommand}

func counterpartyListCommand(r *root) *cobra.Command {
	var q api.CounterpartyQuery
	columns := []string{"id", "name", "status", "accounts", "customer", "updated"}
	cmd := listsPage(r, endpoint.ListCounterparties, field.Counterparties, columns,
		func() (api.CounterpartyQuery, error) { return q, nil })
	cmd.Flags().StringVar(&q.Name, "name", "", "part of the name")
	cmd.Flags().StringVar(&q.CUID, "customer", "", "id of the customer whose counterparties are listed")
	cmd.Flags().StringVar(&q.CustomerName, "customer-name", "", "that customer's name")
	pageFlags(cmd, &q.Page, &q.Size, "counterparties per page")
	return cmd
}

func counterpartyGetCommand(r *root) *cobra.Command {
	return prints(r, &cobra.Command{}, func(ctx context.Context, a *app.App, args []string,
		out one[api.Counterparty]) error {
		p, err := endpoint.Do(ctx, a.Client, endpoint.GetCounterparty, args[0])
		if err != nil {
			return err
		}
		return out.card(p, card(present.Counterparty(r.options(ctx, a), p)))
	})
}
