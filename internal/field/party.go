package field

import (
	"opdeck/api"
	"opdeck/api/untrusted"
)

// PartyAccounts are the fields of a customer's account that is a side of an operation.
var PartyAccounts = New(
	Field[api.PartyAccount]{Name: "account", JSON: "name", Kind: Text, About: "the account's name",
		Text: func(a api.PartyAccount) untrusted.Text { return a.Name }},
	Field[api.PartyAccount]{Name: "number", JSON: "number", Kind: Text, Sensitive: true, About: "the account number",
		Text: func(a api.PartyAccount) untrusted.Text { return a.Number }},
	Field[api.PartyAccount]{Name: "account id", JSON: "id", Kind: ID, About: "the account's identifier",
		Text: func(a api.PartyAccount) untrusted.Text { return a.ID }},
	Field[api.PartyAccount]{Name: "customer", JSON: "customer.name", Kind: Text, About: "its customer's name",
		Text: func(a api.PartyAccount) untrusted.Text { return a.Customer.Name }},
	Field[api.PartyAccount]{Name: "cuid", JSON: "customer.cuid", Kind: ID, About: "its customer's identifier",
		Text: func(a api.PartyAccount) untrusted.Text { return a.Customer.CUID }},
)

// CounterpartyAccounts are the fields of a counterparty's account that is a side of an
// operation.
var CounterpartyAccounts = New(
	Field[api.CounterpartyAccount]{Name: "account", JSON: "name", Kind: Text, About: "the account's name",
		Text: func(a api.CounterpartyAccount) untrusted.Text { return a.Name }},
	Field[api.CounterpartyAccount]{Name: "number", JSON: "number", Kind: Text, Sensitive: true,
		About: "the account number",
		Text:  func(a api.CounterpartyAccount) untrusted.Text { return a.Number }},
	Field[api.CounterpartyAccount]{Name: "account id", JSON: "id", Kind: ID, About: "the account's identifier",
		Text: func(a api.CounterpartyAccount) untrusted.Text { return a.ID }},
	Field[api.CounterpartyAccount]{Name: "counterparty", JSON: "counterparty.name", Kind: Text,
		About: "the counterparty's name",
		Text:  func(a api.CounterpartyAccount) untrusted.Text { return a.Counterparty.Name }},
	Field[api.CounterpartyAccount]{Name: "bank", JSON: "counterparty.bankName", Kind: Text,
		About: "the counterparty's bank",
		Text:  func(a api.CounterpartyAccount) untrusted.Text { return a.Counterparty.BankName }},
	Field[api.CounterpartyAccount]{Name: "counterparty id", Aliases: []string{"suid"}, JSON: "counterparty.suid", Kind: ID,
		About: "the counterparty's identifier",
		Text:  func(a api.CounterpartyAccount) untrusted.Text { return a.Counterparty.SUID }},
)
