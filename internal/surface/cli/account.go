package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/field"
	"opdeck/internal/present"
)

var accountCommands = commands{act.AccountList: accountListCommand, act.AccountGet: accountGetCommand}

func accountListCommand(r *root) *cobra.Command {
	var q api.AccountQuery
	columns := []string{"id", "name", "status", "currency", "balance", "hold", "number", "customer"}
	cmd := listsPage(r, endpoint.ListAccounts, field.Accounts, columns, func() (api.AccountQuery, error) {
		for _, f := range []struct {
			value *string
			words []string
		}{{&q.Balance, api.BalanceFilters}, {&q.Associate, api.AssociateTypes}} {
			if *f.value = strings.ToUpper(*f.value); *f.value != "" && !slices.Contains(f.words, *f.value) {
				return q, usage("must be %s", strings.Join(f.words, ", "))
			}
		}
		return q, nil
	})
	cmd.Flags().StringVar(&q.Currency, "currency", "", "accounts in this currency, by its code")
	cmd.Flags().StringVar(&q.Balance, "balance", "", "accounts whose balance is positive, negative or zero")
	cmd.Flags().StringVar(&q.Associate, "associate", "",
		"what the service uses them for: not_associate, pool or commission")
	pageFlags(cmd, &q.Page, &q.Size, "accounts per page")
	return cmd
}

func accountGetCommand(r *root) *cobra.Command {
	return prints(r, &cobra.Command{}, func(ctx context.Context, a *app.App, args []string, out one[api.Account]) error {
		acc, err := endpoint.Do(ctx, a.Client, endpoint.GetAccount, args[0])
		if err != nil {
			return err
		}
		return out.card(acc, card(present.Account(r.options(ctx, a), acc)))
	})
}
