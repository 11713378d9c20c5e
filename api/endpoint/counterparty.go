package endpoint

import (
	"net/http"

	"opdeck/api"
	"opdeck/api/limit"
)

var counterpartyCalls = []*Route{ListCounterparties.Route, counterpartyAccounts, counterpartyAccount,
	GetCounterparty.Route}

const counterpartyPath = "/v2/counterparty"

// ListCounterparties reads one page of counterparties (one general call).
var ListCounterparties = read(Route{Kind: "counterparty.list", Op: "list counterparties", Path: counterpartyPath,
	Class: limit.General, Need: api.MayRead,
	Query: paged(asked("counterpartyName", "customerId", "customerName")...), Lent: Lending{Reads: true}},
	reading[api.CounterpartyQuery, api.Page[api.Counterparty]]{
		query: func(s api.Service, q api.CounterpartyQuery) queryValues {
			return page(s, q.Page, q.Size, "counterpartyName", q.Name, "customerId", q.CUID, "customerName", q.CustomerName)
		},
		next: func(q api.CounterpartyQuery) string { return q.Next },
		read: list[api.CounterpartyQuery, api.Counterparty](api.CounterpartyRecord)})

// GetCounterparty reads one counterparty with its accounts (one general call).
var GetCounterparty = read(Route{Kind: "counterparty.get", Op: "read counterparty",
	Path: counterpartyPath + "/{counterparty}", Class: limit.General,
	Need: api.MayRead, Lent: Lending{Reads: true}}, reading[string, api.Counterparty]{ids: one,
	read: record[string, api.Counterparty](api.CounterpartyRecord)})

// Calls that only scripts make. A query by number would let someone guess an account number digit by digit.
var (
	counterpartyAccounts = &Route{Kind: "counterparty.account-list", Op: "read counterparty/account",
		Method: http.MethodGet, Path: counterpartyPath + "/account",
		Class: limit.General, Need: api.MayRead, Foreign: true, Lent: Lending{Reads: true},
		Query: paged(append(asked("counterpartyId", "counterpartyName", "customerId", "customerName", "currencyIso"),
			Query{"number", api.MayReveal})...)}
	counterpartyAccount = &Route{Kind: "counterparty.account", Op: "read counterparty/account", Method: http.MethodGet,
		Path:  counterpartyPath + "/account/{id}",
		Class: limit.General, Need: api.MayRead, Foreign: true, Lent: Lending{Reads: true}}
)
