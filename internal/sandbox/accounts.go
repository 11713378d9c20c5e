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
	rows, err := q.QueryContext(ctx, `SELECT a.n, a.customer, a.id, a.name, a.number, a.currency, a.status, a.is_default, a.associate,
		a.units, a.nanos, a.hold_units, a.hold_nanos, a.requisites, a.created, a.updated, c.cuid, c.display, c.email, c.phone, c.status`+accountFrom+tail, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []accountRow
	for rows.Next() {
		var a accountRow
		err := rows.Scan(&a.n, &a.customer, &a.id, &a.name, &a.number, &a.currency, &a.status, &a.isDefault, &a.associate,
			&a.balance.units, &a.balance.nanos, &a.hold.units, &a.hold.nanos, &a.requisites, &a.created, &a.updated,
			&a.cuid, &a.ownerName, &a.ownerMail, &a.ownerNo, &a.ownerStatus)
		if err != nil {
			return nil, err
		}
		a.balance.currency, a.hold.currency = a.currency, a.currency
		list = append(list, a)
	}
	return list, rows.Err()
}

func (a *accountRow) render() any {
	type owner struct {
		ID     string `json:"id"`
		Name   string `json:"name"`
		Email  string `json:"email"`
		Phone  string `json:"phone"`
		Status string `json:"status"`
	}
	status := nameOf(accountStatuses, a.status)
	if status == "ACCEPTED" {
		status = "ACCEPT" // REST has ACCEPT where webhooks' table says ACCEPTED
	}
	return struct {
		ID            string          `json:"id"`
		Customer      owner           `json:"customer"`
		IsDefault     bool            `json:"isDefault"`
		Name          string          `json:"name"`
		Number        string          `json:"number"`
		CurrencyCode  string          `json:"currencyCode"`
		Status        string          `json:"status"`
		AssociateType string          `json:"associateType"`
		Balance       *amountJSON     `json:"balance"`
		Hold          *amountJSON     `json:"hold"`
		Requisites    json.RawMessage `json:"requisites"`
		CreatedAt     string          `json:"createdAt"`
		UpdatedAt     string          `json:"updatedAt"`
	}{a.id, owner{a.cuid, a.ownerName, a.ownerMail, a.ownerNo, nameOf(customerStatuses, a.ownerStatus)}, a.isDefault, a.name, a.number, a.currency,
		status, a.associate, a.balance.rest(), a.hold.rest(), json.RawMessage(a.requisites), stamp(a.created), stamp(a.updated)}
}

// listAccounts: GET /v2/account.
func (s *Service) listAccounts(c *call) (answer, error) {
	p, err := c.page()
	if err != nil {
		return answer{}, err
	}
	w, err := accountFilter(c)
	if err != nil {
		return answer{}, err
	}
	total, err := count(c.ctx, s.ro, `SELECT count(*)`+accountFrom+w.String(), w.args...)
	if err != nil {
		return answer{}, err
	}
	rows, err := queryAccounts(c.ctx, s.ro, w.String()+` ORDER BY a.n LIMIT ? OFFSET ?`, append(w.args, p.size, p.offset())...)
	if err != nil {
		return answer{}, err
	}
	items := make([]any, len(rows))
	for i := range rows {
		items[i] = rows[i].render()
	}
	return p.list(total, items)
}

func accountFilter(c *call) (*where, error) {
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
	return w, nil
}

// getAccount: GET /v2/account/{id}.
func (s *Service) getAccount(c *call) (answer, error) {
	rows, err := queryAccounts(c.ctx, s.ro, ` WHERE a.id = ?`, c.params[0])
	if err != nil {
		return answer{}, err
	}
	if len(rows) == 0 {
		return answer{}, refuse(http.StatusNotFound, "Account not found: "+c.params[0])
	}
	return ok(itemJSON{rows[0].render()})
}
