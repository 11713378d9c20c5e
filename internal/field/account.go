package field

import (
	"opdeck/api"
	"opdeck/api/untrusted"
)

// Accounts are the fields of an account.
var Accounts = New(
	Field[api.Account]{Name: "name", JSON: "name", Kind: Text, Sortable: true, About: "a part of the name",
		Example: "name:main",
		Column:  Column{Min: 12, Max: 30, Flex: 1}, Text: func(a api.Account) untrusted.Text { return a.Name }},
	Field[api.Account]{Name: "status", JSON: "status", Kind: Code, Status: true, Sortable: true,
		About: "the service's status word", Example: "status:ACCEPT",
		Column: Column{Min: 12}, Text: func(a api.Account) untrusted.Text { return a.Status }},
	Field[api.Account]{Name: "balance", JSON: "balance", Kind: Money, Sortable: true, About: "the balance, exact",
		Example: "balance<0",
		Column:  Column{Min: 18}, Money: func(a api.Account) api.Money { return a.Balance.Value() }},
	Field[api.Account]{Name: "hold", JSON: "hold", Kind: Money, Sortable: true,
		About: "the part that operations in progress reserve, exact", Example: "hold>0",
		Column: Column{Min: 14, HidePriority: 2}, Money: func(a api.Account) api.Money { return a.Hold.Value() }},
	Field[api.Account]{Name: "customer", JSON: "customer.name", Kind: Text, Sortable: true,
		About: "a part of its customer's name", Example: "customer:acme",
		Column: Column{Min: 12, Flex: 1, HidePriority: 1},
		Text:   func(a api.Account) untrusted.Text { return a.Customer.Name }},
	Field[api.Account]{Name: "cuid", JSON: "customer.id", Kind: ID, About: "its customer's identifier, or its beginning",
		Example: "cuid:DqCsgSE",
		Text:    func(a api.Account) untrusted.Text { return a.Customer.ID }},
	Field[api.Account]{Name: "number", JSON: "number", Kind: Text, Sensitive: true, About: "the account number",
		Column: Column{Min: 10, Max: 26, HidePriority: 4}, Text: func(a api.Account) untrusted.Text { return a.Number }},
	Field[api.Account]{Name: "currency", JSON: "currencyCode", Kind: Code, About: "the currency's code",
		Example: "currency:EUR",
		Text:    func(a api.Account) untrusted.Text { return a.CurrencyCode }},
	Field[api.Account]{Name: "associate", JSON: "associateType", Kind: Code, About: "what the service uses it for",
		Example: "associate:POOL",
		Text:    func(a api.Account) untrusted.Text { return a.AssociateType }},
	Field[api.Account]{Name: "default", JSON: "isDefault", Kind: Flag, About: "the customer's default account",
		Flag:     func(a api.Account) bool { return a.IsDefault },
		Reported: func(a api.Account) bool { return api.HasFlag(a.Raw, "isDefault") }},
	Field[api.Account]{Name: "created", JSON: "createdAt", Kind: Time, About: "when it was created",
		Example: "created<30d",
		Time:    func(a api.Account) api.Time { return a.CreatedAt }},
	Field[api.Account]{Name: "updated", JSON: "updatedAt", Kind: Time, Sortable: true, About: "when it last changed",
		Example: "updated<2d",
		Time:    func(a api.Account) api.Time { return a.UpdatedAt }},
	Field[api.Account]{Name: "id", JSON: "id", Kind: ID, About: "the account's identifier, or its beginning",
		Example: "id:U1v72k",
		Column:  Column{Min: 12, Max: 26, HidePriority: 3, CutMiddle: true},
		Text:    func(a api.Account) untrusted.Text { return a.ID }},
)
