package endpoint

import (
	"opdeck/api"
	"opdeck/api/limit"
)

// ListAccounts reads one page of accounts (one account call).
var ListAccounts = read(Route{Kind: "account.list", Op: "list accounts", Path: "/v2/account", Class: limit.Account,
	Need:  api.MayRead,
	Query: paged(asked("currencyIso", "balance", "associateType")...), Lent: Lending{Reads: true}},
	reading[api.AccountQuery, api.Page[api.Account]]{
		query: func(s api.Service, q api.AccountQuery) queryValues {
			return page(s, q.Page, q.Size, "currencyIso", q.Currency, "balance", q.Balance, "associateType", q.Associate)
		},
		next: func(q api.AccountQuery) string { return q.Next },
		read: list[api.AccountQuery, api.Account](api.AccountRecord)})

// GetAccount reads one account (one account call).
var GetAccount = read(Route{Kind: "account.get", Op: "read account", Path: "/v2/account/{account}",
	Class: limit.Account, Need: api.MayRead,
	Lent: Lending{Reads: true}}, reading[string, api.Account]{ids: one,
	read: record[string, api.Account](api.AccountRecord)})
