package sandbox

import (
	"context"
	"encoding/json"
	"net/http"
)

type accountRow struct {
	n, customer                         int64
	id, name, number, currency          string
	status                              int
	isDefault                           bool
	associate                           string
	balance, hold                       money
	requisites                          string
	created, updated                    int64
	cuid, ownerName, ownerMail, ownerNo string
	ownerStatus                         int
}

const accountFrom = ` FROM account a JOIN customer c ON c.n = a.customer`

func queryAccounts(ctx context.Context, q querier, tail string, args ...any) ([]accountRow, error) {
	return query(ctx, q, (*accountRow).columns, `SELECT a.n, a.customer, a.id, a.name, a.number, a.currency, a.status,
		a.is_default, a.associate,
		a.currency, a.units, a.nanos, a.currency, a.hold_units, a.hold_nanos, a.requisites, a.created, a.updated,
		c.cuid, c.display, c.email, c.phone, c.status`+accountFrom+tail, args...)
}

func (a *accountRow) columns() []any {
	return []any{&a.n, &a.customer, &a.id, &a.name, &a.number, &a.currency, &a.status, &a.isDefault, &a.associate,
		&a.balance.currency, &a.balance.units, &a.balance.nanos, &a.hold.currency, &a.hold.units, &a.hold.nanos,
		&a.requisites, &a.created, &a.updated, &a.cuid, &a.ownerName, &a.ownerMail, &a.ownerNo, &a.ownerStatus}
}

func findAccount(ctx context.Context, q querier, id string) (accountRow, error) {
	rows, err := queryAccounts(ctx, q, ` WHERE a.id = ?`, id)
	return only(rows, err, "Account", id)
}

func (a *accountRow) render() any {
	status := nameOf(accountStatuses, a.status)
	if status == "ACCEPTED" {
		status = "ACCEPT" // REST has ACCEPT where webhooks' table says ACCEPTED
	}
	owner := object{"id", a.cuid, "name", a.ownerName, "email", a.ownerMail, "phone", a.ownerNo, "status",
		nameOf(customerStatuses, a.ownerStatus)}
	return object{"id", a.id, "customer", owner, "isDefault", a.isDefault, "name", a.name, "number", a.number,
		"currencyCode", a.currency, "status", status, "associateType", a.associate, "balance", a.balance.rest(), "hold",
		a.hold.rest(),
		"requisites", json.RawMessage(a.requisites), "createdAt", stamp(a.created), "updatedAt", stamp(a.updated)}
}

// listAccounts: GET /v2/account.
func listAccounts(c *call) (any, error) {
	q, w := c.r.URL.Query(), &where{}
	w.equal("a.currency", q.Get("currencyIso"))
	w.equal("c.cuid", q.Get("customerId"))
	switch v := q.Get("associateType"); v {
	case "", "ASSOCIATE_TYPE_NOT_SET":
	case "NOT_ASSOCIATE", "POOL", "COMMISSION":
		w.equal("a.associate", v)
	default:
		return nil, refuse(http.StatusBadRequest, "Unknown associateType: "+v)
	}
	switch v := q.Get("balance"); v {
	case "", "NOTSET":
	case "POSITIVE":
		w.add("a.units NOT LIKE '-%' AND a.nanos >= 0 AND NOT (a.units = '0' AND a.nanos = 0)")
	case "NEGATIVE":
		w.add("(a.units LIKE '-%' OR a.nanos < 0)")
	case "ZERO":
		w.add("a.units = '0' AND a.nanos = 0")
	default:
		return nil, refuse(http.StatusBadRequest, "Unknown balance: "+v)
	}
	return listPage(c, accountFrom, w, "a.n", queryAccounts, (*accountRow).render)
}

// getAccount: GET /v2/account/{id}.
func getAccount(c *call) (any, error) {
	a, err := findAccount(c.ctx, c.ro, c.params[0])
	return item(a.render()), err
}
