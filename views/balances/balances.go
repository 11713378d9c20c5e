// Package balances has the screens of customers' accounts: all of them with their
// balances and holds, and one with its requisites.
package balances

import (
	"cmp"
	"context"
	"encoding/json"

	"opdeck/api"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
	"opdeck/views/directory"
)

// Kind is the kind of these places; with an ID it is one account.
const Kind = "accounts"

// Client reads accounts.
type Client interface {
	Account(ctx context.Context, id string) (api.Account, error)
	Accounts(ctx context.Context, q api.AccountQuery) (api.Page[api.Account], error)
}

// language is the filter language over accounts.
var language = filter.NewTable(append(filter.Catalogued(field.Accounts),
	filter.Field[api.Account]{Kind: filter.Free, Help: "contained in the name or its customer's name, or an identifier", Example: `"oak & iron"`,
		Strings: func(a api.Account) []string {
			return []string{string(a.Name), string(a.Customer.Name), string(a.ID), string(a.Customer.ID)}
		}})...)

// New makes the screen of one account, or without an id the list; start is its filter.
func New(env *ui.Env, client Client, id, start string) ui.Screen {
	return directory.New(env, directory.Spec[api.Account]{Kind: Kind, Title: "Accounts", One: "account", Many: "accounts", Class: "account",
		Catalogue: field.Accounts, Columns: []string{"name", "status", "balance", "hold", "customer", "number", "id"},
		Language: language, Example: "balance<0 currency:EUR customer:acme",
		ID: func(a api.Account) string { return string(a.ID) }, CUID: func(a api.Account) string { return string(a.Customer.ID) },
		Raw: func(a api.Account) json.RawMessage { return a.Raw },
		Read: func(ctx context.Context, page int, _ string) (api.Page[api.Account], error) {
			return client.Accounts(ctx, api.AccountQuery{Page: page})
		},
		Get: client.Account, Head: head, Card: func(a api.Account) []widget.Pair { return facts(env, a) }}, id, start)
}

// head answers whether there is money on it.
func head(a api.Account) string {
	balance := "balance not told"
	if m := a.Balance.Value(); !m.Empty() {
		balance = draw.Money(m)
	}
	if m := a.Hold.Value(); !m.Empty() {
		balance += ", " + draw.Money(m) + " on hold"
	}
	return cmp.Or(a.Name, a.ID).Line(100) + ": " + balance
}

func facts(env *ui.Env, a api.Account) []widget.Pair {
	out := append([]widget.Pair{{Value: "Account"}},
		directory.Facts(env, field.Accounts, a, "status", "name", "number", "id", "currency", "default", "associate", "created", "updated")...)
	out = append(append(out, widget.Pair{Value: "Money"}), directory.Facts(env, field.Accounts, a, "balance", "hold")...)
	for _, usd := range []struct {
		label string
		of    *api.Money
	}{{"balance in USD", a.Balance.Default}, {"hold in USD", a.Hold.Default}} {
		if usd.of != nil {
			out = append(out, directory.Money(usd.label, *usd.of)...)
		}
	}
	for _, set := range a.Requisites {
		out = append(out, widget.Pair{Value: "Requisites " + set.Title.Line(60)})
		for _, it := range set.Items {
			out = append(out, widget.Pair{Label: cmp.Or(it.Key, "value").Line(40), Value: it.Number.Line(500), Long: true})
		}
	}
	out = append(out, widget.Pair{Value: "Customer"}, directory.Status(env.Theme, "status", a.Customer.Status))
	out = append(out, widget.SaidAll("name", string(a.Customer.Name), "cuid", string(a.Customer.ID))...)
	out = append(out, directory.Details(env, "", a.Customer.Details())...)
	return append(out, directory.More(env, a.Unknown())...)
}
