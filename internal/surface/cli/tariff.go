package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/field"
	"opdeck/internal/present"
)

var tariffCommands = commands{act.TariffLimits: tariffLimitsCommand, act.TariffCommissions: tariffCommissionsCommand}

func tariffLimitsCommand(r *root) *cobra.Command {
	return tariffsCommand(r, endpoint.ListPaymentLimits, "from", "to", "payment", "cuid", "id")
}

func tariffCommissionsCommand(r *root) *cobra.Command {
	return tariffsCommand(r, endpoint.ListCommissions, "from", "to", "type", "payment", "percent", "fixed", "cuid")
}

// tariffsCommand lists rules with these columns.
func tariffsCommand(r *root, call endpoint.Endpoint[api.TariffQuery, api.Page[api.Tariff]],
	columns ...string) *cobra.Command {
	var q api.TariffQuery
	cmd := printsList(r, &cobra.Command{}, func(ctx context.Context, a *app.App, _ []string,
		out many[pageJSON[api.Tariff], api.Tariff]) error {
		p, err := endpoint.Do(ctx, a.Client, call, q)
		if err != nil {
			return err
		}
		return out.print(pageJSON[api.Tariff]{p.Items, p.Page, p.Total}, p.Items,
			tariffTable(r.options(ctx, a), p.Items, columns...))
	})
	cmd.Flags().StringVar(&q.From, "from", "", "the currency paid from, by its code")
	cmd.Flags().StringVar(&q.To, "to", "", "the currency paid in, by its code")
	cmd.Flags().StringVar(&q.CUID, "customer", "", "id of the customer that they apply to")
	pageFlags(cmd, &q.Page, &q.Size, "rules per page")
	return cmd
}

// tariffTable has columns of the catalogue, and one for each member without a Go field, under the service's name.
func tariffTable(o present.Options, items []api.Tariff, columns ...string) *table {
	t := fieldTable(o, field.Tariffs, items, columns...)
	received := present.Options{Masked: o.Masked} // times as they came: programs get those
	for _, m := range present.Members(received, items) {
		var shown func(time.Time) string
		if m.Moment {
			shown = listTime(o, field.Column{})
		}
		cells := make([]string, len(items))
		for i, it := range items {
			cells[i] = m.Cell(received, it).Text
		}
		t.extend(oneLine(m.Name), cells, shown)
	}
	return t
}
