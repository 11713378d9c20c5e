package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/internal/present"
)

var accountCommands = commands{act.AccountList: accountListCommand, act.AccountGet: accountGetCommand}

func accountListCommand(r *root) *cobra.Command {
	var q api.AccountQuery
	columns := []string{"id", "name", "status", "currency", "balance", "hold", "number", "customer"}
	cmd := listsPage(r, field.Accounts, columns, func(ctx context.Context, c *app.Client) (none api.Page[api.Account], err error) {
		for _, f := range []struct {
			value *string
			words []string
		}{{&q.Balance, api.BalanceFilters}, {&q.Associate, api.AssociateTypes}} {
			if *f.value = strings.ToUpper(*f.value); *f.value != "" && !slices.Contains(f.words, *f.value) {
				return none, usage("the service takes %s here", strings.Join(f.words, ", "))
			}
		}
		return c.Accounts(ctx, q)
	})
	cmd.Flags().StringVar(&q.Currency, "currency", "", "accounts in this currency, by its code")
	cmd.Flags().StringVar(&q.Balance, "balance", "", "accounts whose balance is positive, negative or zero")
	cmd.Flags().StringVar(&q.Associate, "associate", "", "what the service uses them for: not_associate, pool or commission")
	pageFlags(cmd, &q.Page, &q.Size, "accounts a page")
	return cmd
}

func accountGetCommand(r *root) *cobra.Command {
	return prints(r, &cobra.Command{}, func(ctx context.Context, a *app.App, args []string, out one[api.Account]) error {
		acc, err := a.Client.Account(ctx, args[0])
		if err != nil {
			return err
		}
		t := fieldCard(field.Accounts, acc)
		for _, set := range acc.Requisites {
			for _, it := range set.Items {
				t.add(strings.TrimSpace("requisites "+set.Title.Line(40)), strings.TrimSpace(it.Key.Line(60)+" "+it.Number.Line(200)))
			}
		}
		t.standing("account", acc.Status)
		t.standing("customer", acc.Customer.Status)
		t.details(acc.Customer.Details(), mask.Needed(ctx))
		t.details(api.Details(acc.Unknown()), mask.Needed(ctx))
		return out.card(acc, t)
	})
}

// fieldCard is a card of all fields of a record that hold something.
func fieldCard[T any](c *field.Catalogue[T], record T) *table {
	t := newCard()
	for _, f := range c.All() {
		if v := present.Exact(f, record, 500); v != "" {
			t.add(f.Name, v)
		}
	}
	return t
}

// standing says what a status word means, where that is known.
func (t *table) standing(of string, status untrusted.Text) {
	if means := api.StandingOf(status).Says(); means != "" {
		t.add(of+" is", means)
	}
}

// details adds values that may lead to a person.
func (t *table) details(list []api.Detail, masked bool) {
	for _, d := range list {
		t.add(d.Label, mask.Detail(d, masked).Line(500)+oddMark(d.Odd))
	}
}
