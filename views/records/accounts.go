package records

import (
	"cmp"
	"context"
	"encoding/json"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
)

// KindAccounts is the kind of these places; with an ID it is one account.
const KindAccounts = "accounts"

// accountTerms is the filter language over accounts.
var accountTerms = filter.NewTable(append(filter.Catalogued(field.Accounts),
	filter.Field[api.Account]{Kind: filter.Free,
		Help: "contained in its name, its customer's name or an id", Example: `"oak & iron"`,
		Strings: func(a api.Account) []string {
			return []string{string(a.Name), string(a.Customer.Name), string(a.ID), string(a.Customer.ID)}
		}})...)

// NewAccounts returns the screen of one account, or the list if id is ""; start is the list's filter.
func NewAccounts(env *ui.Env, caller endpoint.Caller, id, start string) ui.Screen {
	return newScreen(env, Spec[api.Account]{Kind: KindAccounts, Title: "Accounts", One: "account",
		Many: "accounts", Class: "account",
		Catalogue: field.Accounts, Columns: []string{"name", "status", "balance", "hold", "customer", "number", "id"},
		Language: accountTerms, Example: "balance<0 currency:EUR customer:acme",
		ID:   func(a api.Account) string { return string(a.ID) },
		CUID: func(a api.Account) string { return string(a.Customer.ID) },
		Raw:  func(a api.Account) json.RawMessage { return a.Raw },
		Read: func(ctx context.Context, at api.PageAt, _ string) (api.Page[api.Account], error) {
			return endpoint.Do(ctx, caller, endpoint.ListAccounts, api.AccountQuery{Page: at.Page, Next: at.Next})
		},
		Get: func(ctx context.Context, id string) (api.Account, error) {
			return endpoint.Do(ctx, caller, endpoint.GetAccount, id)
		},
		Head: accountHead, Card: present.Account}, id, start)
}

// accountHead answers whether there is money on it.
func accountHead(a api.Account) string {
	balance := "balance not reported"
	if m := a.Balance.Value(); !m.Empty() {
		balance = format.Money(m)
	}
	if m := a.Hold.Value(); !m.Empty() {
		balance += ", " + format.Money(m) + " on hold"
	}
	return cmp.Or(a.Name, a.ID).Line(100) + ": " + balance
}
