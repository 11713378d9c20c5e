package cli

import (
	"context"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/field"
)

var tariffCommands = commands{"tariff.limits": (*root).tariffLimits, "tariff.commissions": (*root).tariffCommissions}

func (r *root) tariffLimits() *cobra.Command {
	return r.tariffs((*app.Client).PaymentLimits, "from", "to", "payment", "cuid", "id", "others")
}

func (r *root) tariffCommissions() *cobra.Command {
	return r.tariffs((*app.Client).Commissions, "from", "to", "type", "payment", "percent", "fixed", "cuid", "others")
}

// tariffs lists rules with these columns.
func (r *root) tariffs(read func(*app.Client, context.Context, api.TariffQuery) (api.Page[api.Tariff], error), columns ...string) *cobra.Command {
	var q api.TariffQuery
	cmd := listsPage(r, field.Tariffs, columns, func(ctx context.Context, c *app.Client) (api.Page[api.Tariff], error) { return read(c, ctx, q) })
	cmd.Flags().StringVar(&q.From, "from", "", "the currency paid from, by its code")
	cmd.Flags().StringVar(&q.To, "to", "", "the currency paid in, by its code")
	cmd.Flags().StringVar(&q.CUID, "customer", "", "id of the customer that they hold for")
	pageFlags(cmd, &q.Page, &q.Size, "rules a page")
	return cmd
}
