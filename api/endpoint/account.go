package endpoint

import (
	"cmp"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/api/session"
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

// ListUsers reads the first page of the service's users (one general call).
var ListUsers = read(Route{Kind: "user.list", Op: "list users", Path: "/v2/user", Class: limit.General,
	Need: api.MayRead, Query: paged()},
	reading[struct{}, api.Page[api.User]]{
		query: func(s api.Service, _ struct{}) queryValues { return page(s, 0, 0) },
		read:  list[struct{}, api.User](api.UserRecord)})

var sessionCalls = []*Route{login, refresh, reset}

// The calls of package session and the acts on the session. They have no typed value, because only the session makes
// them.
var (
	login = &Route{Kind: api.ActSessionLogin, Op: "log in", Method: http.MethodPost, Path: session.LoginPath,
		Class: limit.Login,
		Need:  api.MaySession, Write: ofSession(api.ActSessionLogin, "402"),
		Lent: Lending{Instead: "Leave the login out: opdeck keeps the one session of this account and adds the token to " +
			"every call. Another login would end everyone's session."}}
	refresh = &Route{Kind: api.ActSessionRefresh, Op: "refresh", Method: http.MethodGet,
		Path: session.RefreshPath + "{token}", Class: limit.Refresh,
		Need: api.MaySession, Write: ofSession(api.ActSessionRefresh, "401"),
		Lent: Lending{Instead: "Leave the refresh out: opdeck refreshes the tokens before they expire. Another refresh " +
			"would end everyone's session."}}
	reset = &Route{Kind: api.ActSessionReset, Op: "reset the session", Need: api.MaySession,
		Write: ofSession(api.ActSessionReset, "403")}
)

func ofSession(kind api.ActKind, number string) *Write {
	return &Write{Number: number, WriteRule: api.WriteRule{Kind: kind, Need: api.MaySession}}
}

var operationCalls = []*Route{ListOperations.Route, GetOperation.Route, GetOperationTree.Route}

const operationPath = "/v2/billing/operation/{opid}"

// ListOperations reads one page of the list (one billing call). An item that is not readable as an operation has only
// its Raw.
var ListOperations = shows(read(Route{Kind: "operation.list", Op: "list operations", Path: "/v2/billing/operation",
	Class: limit.Billing, Need: api.MayRead,
	Query: paged(Query{"account", api.MayReveal}, Query{Name: "clientCuid"}, Query{Name: "clientName"}),
	Lent:  Lending{Reads: true}},
	reading[api.OperationQuery, api.Page[api.Operation]]{
		next: func(q api.OperationQuery) string { return q.Next },
		query: func(s api.Service, q api.OperationQuery) queryValues {
			return page(s, q.Page, q.Size, "account", q.Account, "clientCuid", q.ClientCUID, "clientName", q.ClientName)
		},
		read: func(ctx context.Context, w *Wire, r api.Request, a api.Answer, _ api.OperationQuery) (api.Page[api.Operation],
			error) {
			return w.operations(ctx, r, a)
		}}), func(ctx context.Context, w *Wire, r api.Request, a api.Answer) { _, _ = w.operations(ctx, r, a) })

// GetOperation reads one operation (one billing call).
var GetOperation = shows(read(Route{Kind: "operation.get", Op: "read operation", Path: operationPath,
	Class: limit.Billing, Need: api.MayRead,
	Lent: Lending{Reads: true}}, reading[string, api.Operation]{
	ids: one,
	read: func(ctx context.Context, w *Wire, r api.Request, a api.Answer, opid string) (api.Operation, error) {
		return w.operation(ctx, r, a, opid)
	}}), func(ctx context.Context, w *Wire, r api.Request, a api.Answer) { _, _ = w.operation(ctx, r, a, "") })

// GetOperationTree reads an operation and its children (one billing call).
var GetOperationTree = read(Route{Kind: "operation.tree", Op: "read operation tree", Path: operationPath + "/tree",
	Class: limit.Billing, Need: api.MayRead,
	Lent: Lending{Reads: true}}, reading[string, api.OperationTree]{
	ids: one,
	read: func(_ context.Context, _ *Wire, r api.Request, a api.Answer, opid string) (api.OperationTree, error) {
		return api.TreeIn(r, a, opid)
	}})

// shows passes relayed answers to the observers of operations, too.
func shows[In, Out any](e Endpoint[In, Out], see func(context.Context, *Wire, api.Request, api.Answer)) Endpoint[In,
	Out] {
	e.shown = see
	return e
}

// operation decodes the operation in an answer, which must be the one that was asked for (opid; "": any), and passes it
// to the observers.
func (w *Wire) operation(ctx context.Context, r api.Request, a api.Answer, opid string) (api.Operation, error) {
	raw, err := api.RecordIn(r, a, api.OperationRecord)
	if err != nil {
		return api.Operation{}, err
	}
	o, err := api.ReadOperation(raw)
	if err != nil {
		return api.Operation{}, api.NotUnderstood(r, a, err)
	}
	if is := string(o.OPID); opid != "" && is != "" && !strings.EqualFold(is, opid) {
		return api.Operation{}, &api.Error{Op: r.Op, Kind: api.Internal, Status: a.Status, RequestID: a.RequestID,
			Public: "The service answered with the record of another operation, " + o.OPID.Line(64) + ".",
			Remedy: api.Remedy{Kind: api.ReportRequest}}
	}
	w.client.Saw(ctx, a.At, false, o)
	return o, nil
}

// operations decodes a page of operations and passes them to the observers.
func (w *Wire) operations(ctx context.Context, r api.Request, a api.Answer) (api.Page[api.Operation], error) {
	p, err := pageOf[api.Operation](w, r, a, api.OperationRecord)
	if err == nil {
		w.client.Saw(ctx, p.At, true, p.Items...)
	}
	return p, err
}

// ReportTo selects a report and says where to write it.
type ReportTo struct {
	api.ReportQuery
	To io.Writer
}

// GetReport writes the service's own report of operations, a workbook (.xlsx), without parsing it (one billing call;
// at most 16 MB). It writes nothing before it has the whole answer.
var GetReport = read(Route{Kind: "operation.report", Op: "read report", Path: "/v2/report/operations",
	Class: limit.Billing, Need: api.MayExport,
	Query:  asked("page", "pageSize"),
	Masked: Masking{Only: []api.Permission{api.MayExport, api.MayReveal}, Note: noteReport}, Lent: Lending{Reads: true}},
	reading[ReportTo, api.Report]{
		check: func(q ReportTo) error {
			if q.Page < 0 || q.Size < 0 {
				return &api.Error{Op: "read report", Kind: api.Usage, Public: "The page and size of a report must be 0 or more."}
			}
			return nil
		},
		query: func(s api.Service, q ReportTo) queryValues {
			return queryValues{"page", strconv.Itoa(q.Page), "pageSize", strconv.Itoa(cmp.Or(q.Size, s.PageSize))}
		},
		read: writeReport,
	})

func noteReport(in any) api.Event {
	var page, size string
	switch in := in.(type) {
	case ReportTo:
		page, size = strconv.Itoa(in.Page), strconv.Itoa(in.Size)
	case Raw:
		page, size = cmp.Or(in.Query.Get("page"), "0"), cmp.Or(in.Query.Get("pageSize"), "0")
	}
	return api.Event{Name: "export", Object: "report",
		Detail: "the service's report of operations, page " + page + ", " + size + " a page"}
}

func writeReport(_ context.Context, _ *Wire, r api.Request, a api.Answer, q ReportTo) (api.Report, error) {
	body, err := a.JSON(r)
	if err != nil {
		return api.Report{}, err
	}
	m := api.ObjectIn(body)
	data := m.Find("data")
	if data == "" {
		if err := api.SaidNo(r, a, body, "report"); err != nil {
			return api.Report{}, err
		}
		return api.Report{}, &api.Error{Op: r.Op, Kind: api.Internal, Status: a.Status, RequestID: a.RequestID,
			Public: "The service's answer contains no report. It contains " + body.Keys() + ".",
			Remedy: api.Remedy{Kind: api.CompareAnswers}}
	}
	file, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return api.Report{}, api.NotUnderstood(r, a, err)
	}
	n, err := q.To.Write(file)
	if err != nil {
		return api.Report{}, &api.Error{Op: r.Op, Kind: api.Internal, Public: "The report could not be written.", Err: err}
	}
	return api.Report{Bytes: int64(n), Name: text(m.Find("name"))}, nil
}
