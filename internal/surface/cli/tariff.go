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
	cmd := printsList(r, &cobra.Command{}, func(ctx context.Context, a *app.App, _ []string, out many[pageJSON[api.Tariff], api.Tariff]) error {
		p, err := read(a.Client, ctx, q)
		if err != nil {
			return err
		}
		return out.print(pageJSON[api.Tariff]{p.Items, p.Page, p.Total}, p.Items, fieldTable(field.Tariffs, p.Items, columns...))
	})
	cmd.Flags().StringVar(&q.From, "from", "", "the currency paid from, by its code")
	cmd.Flags().StringVar(&q.To, "to", "", "the currency paid in, by its code")
	cmd.Flags().StringVar(&q.CUID, "customer", "", "id of the customer that they hold for")
	cmd.Flags().IntVar(&q.Page, "page", 0, "page, from 0")
	cmd.Flags().IntVar(&q.Size, "limit", 0, "rules a page")
	return cmd
}
