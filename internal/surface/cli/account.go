package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/app"
	"opdeck/internal/field"
	"opdeck/internal/present"
	"opdeck/internal/system/wholefile"
)

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

func accountGetCommand(r *root) *cobra.Command { return gets(r, endpoint.GetAccount, present.Account) }

// gets is a command that prints the record of an id.
func gets[T any](r *root, call endpoint.Endpoint[string, T],
	sections func(present.Options, T) []present.Section) *cobra.Command {
	return prints(r, &cobra.Command{}, func(ctx context.Context, a *app.App, args []string) (record[T], error) {
		v, err := endpoint.Do(ctx, a.Client, call, args[0])
		return card(v, sections(r.options(ctx, a), v)...), err
	})
}

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
	return gets(r, endpoint.GetCounterparty, present.Counterparty)
}

func tariffLimitsCommand(r *root) *cobra.Command {
	return tariffsCommand(r, endpoint.ListPaymentLimits, "from", "to", "payment", "cuid", "id")
}

func tariffCommissionsCommand(r *root) *cobra.Command {
	return tariffsCommand(r, endpoint.ListCommissions, "from", "to", "type", "payment", "percent", "fixed", "cuid")
}

// tariffsCommand lists rules with these columns, and one for each member without a Go field, under the service's name.
func tariffsCommand(r *root, call endpoint.Endpoint[api.TariffQuery, api.Page[api.Tariff]],
	columns ...string) *cobra.Command {
	var q api.TariffQuery
	cmd := prints(r, lists(&cobra.Command{}), func(ctx context.Context, a *app.App, _ []string) (page[api.Tariff], error) {
		p, err := endpoint.Do(ctx, a.Client, call, q)
		o := r.options(ctx, a)
		return pageOf(p, p.Items, listed(o, append(present.Columns(field.Tariffs, columns...),
			present.Members(o, p.Items)...), p.Items)), err
	})
	cmd.Flags().StringVar(&q.From, "from", "", "the currency paid from, by its code")
	cmd.Flags().StringVar(&q.To, "to", "", "the currency paid in, by its code")
	cmd.Flags().StringVar(&q.CUID, "customer", "", "id of the customer that they apply to")
	pageFlags(cmd, &q.Page, &q.Size, "rules per page")
	return cmd
}

// read reads the file named by an argument, or standard input for -, up to max bytes; tooLarge is the error for more.
func (r *root) read(name string, max int64, tooLarge string) ([]byte, error) {
	in, err := io.NopCloser(r.env.In), error(nil)
	if name != "-" {
		in, err = os.Open(name)
	}
	var b []byte
	if err == nil {
		b, err = io.ReadAll(io.LimitReader(in, max+1))
		_ = in.Close() // of a file that was read
	}
	switch {
	case err != nil:
		return nil, &api.Error{Kind: api.Usage, Public: "The file cannot be read: " + name + ".", Err: err}
	case int64(len(b)) > max:
		return nil, &api.Error{Kind: api.Usage, Public: tooLarge}
	}
	return b, nil
}

// notToTerminal returns an error if the output is a terminal, for bytes that could control it.
func (r *root) notToTerminal(what string) error {
	if !r.env.OutTTY {
		return nil
	}
	return usage("%s is not written to a terminal: name a file, or send the output to a file or a pipe", what)
}

// toFile passes fn standard output, or a new file of mode 0600 that is removed if fn fails.
func (r *root) toFile(args []string, fn func(io.Writer) error) error {
	if len(args) == 0 || args[0] == "-" {
		return fn(r.env.Out)
	}
	err := wholefile.Write(args[0], fn)
	var worded *api.Error
	if err == nil || errors.As(err, &worded) {
		return err
	}
	return &api.Error{Kind: api.Usage, Public: "The file cannot be written, or already exists: " + args[0] + ".",
		Err: err}
}
