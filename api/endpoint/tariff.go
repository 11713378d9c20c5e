package endpoint

import (
	"net/http"

	"opdeck/api"
	"opdeck/api/limit"
)

var tariffCalls = []*Route{ListCommissions.Route, accountCommissions, ListPaymentLimits.Route}

// ListPaymentLimits reads one page of the limits of payments (one billing call).
var ListPaymentLimits = read(Route{Kind: "tariff.limits", Op: "list payment limits", Path: "/v2/billing/limits",
	Class: limit.Billing, Need: api.MayRead,
	Query: paged(asked("currencyIsoFrom", "currencyIsoTo", "customerId")...), Lent: Lending{Reads: true}},
	reading[api.TariffQuery, api.Page[api.Tariff]]{
		query: func(s api.Service, q api.TariffQuery) queryValues {
			return page(s, q.Page, q.Size, "currencyIsoFrom", q.From, "currencyIsoTo", q.To, "customerId", q.CUID)
		},
		next: func(q api.TariffQuery) string { return q.Next },
		read: list[api.TariffQuery, api.Tariff](api.LimitRecord)})

// ListCommissions reads one page of the commissions (one billing call).
var ListCommissions = read(Route{Kind: "tariff.commissions", Op: "list commissions", Path: commissionPath,
	Class: limit.Billing, Need: api.MayRead,
	Query: paged(asked("currencyIsoFrom", "currencyIsoTo", "customerCuid")...), Lent: Lending{Reads: true}},
	reading[api.TariffQuery, api.Page[api.Tariff]]{
		query: func(s api.Service, q api.TariffQuery) queryValues {
			return page(s, q.Page, q.Size, "currencyIsoFrom", q.From, "currencyIsoTo", q.To, "customerCuid", q.CUID)
		},
		next: func(q api.TariffQuery) string { return q.Next },
		read: list[api.TariffQuery, api.Tariff](api.CommissionRecord)})

const commissionPath = "/v2/billing/commission"

// accountCommissions is a call that only scripts make.
var accountCommissions = &Route{Kind: "tariff.account-commissions", Op: "read billing/commission/account",
	Method: http.MethodGet,
	Path:   commissionPath + "/account", Class: limit.Billing, Need: api.MayRead, Foreign: true,
	Lent:  Lending{Reads: true},
	Query: paged(asked("currencyIsoFrom", "currencyIsoTo", "customerCuid", "accountId")...)}
