package sandbox

import (
	"context"
	"encoding/json"
	"net/http"
)

type counterpartyRow struct {
	n                             int64
	suid, name, bank, description string
	profile, cuid, customerName   string
	created, updated              int64
}

const counterpartyFrom = ` FROM counterparty p JOIN customer c ON c.n = p.customer`

func queryCounterparties(ctx context.Context, q querier, tail string, args ...any) ([]counterpartyRow, error) {
	rows, err := q.QueryContext(ctx, `SELECT p.n, p.suid, p.name, p.bank, p.description, p.profile, p.created, p.updated, c.cuid, c.display`+counterpartyFrom+tail, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []counterpartyRow
	for rows.Next() {
		var p counterpartyRow
		if err := rows.Scan(&p.n, &p.suid, &p.name, &p.bank, &p.description, &p.profile, &p.created, &p.updated, &p.cuid, &p.customerName); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, rows.Err()
}

type cpAccountRow struct {
	n                                      int64
	id, name, number, currency, kind, rail string
	status                                 int
	created, updated                       int64
	suid, payee, bank, cuid, customerName  string
}

const cpAccountFrom = ` FROM cpaccount k JOIN counterparty p ON p.n = k.counterparty JOIN customer c ON c.n = p.customer`

func queryCPAccounts(ctx context.Context, q querier, tail string, args ...any) ([]cpAccountRow, error) {
	rows, err := q.QueryContext(ctx, `SELECT k.n, k.id, k.name, k.number, k.currency, k.kind, k.rails, k.status, k.created, k.updated, p.suid, p.name, p.bank, c.cuid, c.display`+cpAccountFrom+tail, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []cpAccountRow
	for rows.Next() {
		var a cpAccountRow
		err := rows.Scan(&a.n, &a.id, &a.name, &a.number, &a.currency, &a.kind, &a.rail, &a.status, &a.created, &a.updated, &a.suid, &a.payee, &a.bank, &a.cuid, &a.customerName)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, rows.Err()
}

type cpAccountJSON struct {
	AccountID     string   `json:"accountId"`
	CurrencyCode  string   `json:"currencyCode"`
	Status        string   `json:"status"`
	Name          string   `json:"name"`
	Number        string   `json:"number"`
	Type          string   `json:"type"`
	SupportedRail []string `json:"supportedRails"`
	CreatedAt     string   `json:"createdAt"`
	UpdatedAt     string   `json:"updatedAt"`
	Bank          patch    `json:"bank"`
	Counterparty  patch    `json:"counterparty"`
	Customer      patch    `json:"customer"`
}

func (a *cpAccountRow) render() cpAccountJSON {
	return cpAccountJSON{a.id, a.currency, nameOf(counterpartyStatuses, a.status), a.name, a.number, a.kind, []string{a.rail}, stamp(a.created), stamp(a.updated),
		patch{"name": a.bank}, patch{"counterpartyId": a.suid, "name": a.payee}, patch{"cuid": a.cuid, "name": a.customerName}}
}

func (p *counterpartyRow) render(accounts []cpAccountRow) any {
	shown := make([]cpAccountJSON, len(accounts))
	for i := range accounts {
		shown[i] = accounts[i].render()
	}
	return struct {
		ID          string          `json:"counterpartyId"`
		Description string          `json:"description"`
		CreatedAt   string          `json:"createdAt"`
		UpdatedAt   string          `json:"updatedAt"`
		Profile     json.RawMessage `json:"profile"`
		Customer    patch           `json:"customer"`
		Accounts    []cpAccountJSON `json:"accounts"`
	}{p.suid, p.description, stamp(p.created), stamp(p.updated), json.RawMessage(p.profile), patch{"cuid": p.cuid, "name": p.customerName}, shown}
}

// listCounterparties: GET /v2/counterparty.
func (s *Service) listCounterparties(c *call) (answer, error) {
	p, err := c.page()
	if err != nil {
		return answer{}, err
	}
	q, w := c.r.URL.Query(), &where{}
	w.equal("p.suid", q.Get("counterpartyId"))
	w.contains("p.name", q.Get("counterpartyName"))
	w.equal("c.cuid", q.Get("customerId"))
	w.contains("c.display", q.Get("customerName"))
	if err := w.between(c, "p.created", "fromCreatedAt", "toCreatedAt"); err != nil {
		return answer{}, err
	}
	total, err := count(c.ctx, s.ro, `SELECT count(*)`+counterpartyFrom+w.String(), w.args...)
	if err != nil {
		return answer{}, err
	}
	rows, err := queryCounterparties(c.ctx, s.ro, w.String()+` ORDER BY p.created DESC, p.n LIMIT ? OFFSET ?`, append(w.args, p.size, p.offset())...)
	if err != nil {
		return answer{}, err
	}
	items := make([]any, len(rows))
	for i := range rows {
		accounts, err := queryCPAccounts(c.ctx, s.ro, ` WHERE p.suid = ? ORDER BY k.n`, rows[i].suid)
		if err != nil {
			return answer{}, err
		}
		items[i] = rows[i].render(accounts)
	}
	return p.list(total, items)
}

// getCounterparty: GET /v2/counterparty/{counterpartyId}.
func (s *Service) getCounterparty(c *call) (answer, error) {
	rows, err := queryCounterparties(c.ctx, s.ro, ` WHERE p.suid = ?`, c.params[0])
	if err != nil {
		return answer{}, err
	}
	if len(rows) == 0 {
		return answer{}, refuse(http.StatusNotFound, "Counterparty not found: "+c.params[0])
	}
	accounts, err := queryCPAccounts(c.ctx, s.ro, ` WHERE p.suid = ? ORDER BY k.n`, c.params[0])
	if err != nil {
		return answer{}, err
	}
	return ok(itemJSON{rows[0].render(accounts)})
}

// listCounterpartyAccounts: GET /v2/counterparty/account.
func (s *Service) listCounterpartyAccounts(c *call) (answer, error) {
	p, err := c.page()
	if err != nil {
		return answer{}, err
	}
	q, w := c.r.URL.Query(), &where{}
	for column, name := range map[string]string{"k.id": "accountId", "p.suid": "counterpartyId", "k.currency": "currencyCode", "c.cuid": "customerId", "k.number": "number"} {
		w.equal(column, q.Get(name))
	}
	w.contains("p.name", q.Get("counterpartyName"))
	w.contains("c.display", q.Get("customerName"))
	w.contains("k.name", q.Get("name"))
	w.contains("k.name || ' ' || k.number || ' ' || p.name", q.Get("search"))
	w.code("k.status", counterpartyStatuses, q.Get("status"))
	if err := w.between(c, "k.created", "fromCreatedAt", "toCreatedAt"); err != nil {
		return answer{}, err
	}
	total, err := count(c.ctx, s.ro, `SELECT count(*)`+cpAccountFrom+w.String(), w.args...)
	if err != nil {
		return answer{}, err
	}
	rows, err := queryCPAccounts(c.ctx, s.ro, w.String()+` ORDER BY k.created DESC, k.n LIMIT ? OFFSET ?`, append(w.args, p.size, p.offset())...)
	if err != nil {
		return answer{}, err
	}
	items := make([]any, len(rows))
	for i := range rows {
		items[i] = rows[i].render()
	}
	return p.list(total, items)
}

// getCounterpartyAccount: GET /v2/counterparty/account/{accountId}.
func (s *Service) getCounterpartyAccount(c *call) (answer, error) {
	rows, err := queryCPAccounts(c.ctx, s.ro, ` WHERE k.id = ?`, c.params[0])
	if err != nil {
		return answer{}, err
	}
	if len(rows) == 0 {
		return answer{}, refuse(http.StatusNotFound, "Counterparty account not found: "+c.params[0])
	}
	return ok(itemJSON{rows[0].render()})
}
