package sandbox

import (
	"context"
	"encoding/json"
)

type counterpartyRow struct {
	n                             int64
	suid, name, bank, description string
	profile, cuid, customerName   string
	created, updated              int64
	accounts                      []payeeAccount
}

// payeeAccount is an account of a counterparty.
type payeeAccount struct {
	n                                       int64
	id, name, number, currency, kind, rails string
	status                                  int
	created, updated                        int64
	suid                                    string
}

const counterpartyFrom = ` FROM counterparty p JOIN customer c ON c.n = p.customer`

func (p *counterpartyRow) columns() []any {
	return []any{&p.n, &p.suid, &p.name, &p.bank, &p.description, &p.profile, &p.created, &p.updated, &p.cuid,
		&p.customerName}
}

func (a *payeeAccount) columns() []any {
	return []any{&a.n, &a.id, &a.name, &a.number, &a.currency, &a.kind, &a.rails, &a.status, &a.created, &a.updated,
		&a.suid}
}

func queryPayeeAccounts(ctx context.Context, q querier, tail string, args ...any) ([]payeeAccount, error) {
	return query(ctx, q, (*payeeAccount).columns, `SELECT k.n, k.id, k.name, k.number, k.currency, k.kind, k.rails,
		k.status, k.created, k.updated, p.suid
		FROM cpaccount k JOIN counterparty p ON p.n = k.counterparty`+tail, args...)
}

// queryCounterparties returns counterparties with their accounts.
func queryCounterparties(ctx context.Context, q querier, tail string, args ...any) ([]counterpartyRow, error) {
	rows, err := query(ctx, q, (*counterpartyRow).columns,
		`SELECT p.n, p.suid, p.name, p.bank, p.description, p.profile, p.created, p.updated,
			c.cuid, c.display`+counterpartyFrom+tail, args...)
	for i := range rows {
		if err == nil {
			rows[i].accounts, err = queryPayeeAccounts(ctx, q, ` WHERE p.suid = ? ORDER BY k.n`, rows[i].suid)
		}
	}
	return rows, err
}

func findCounterparty(ctx context.Context, q querier, suid string) (counterpartyRow, error) {
	rows, err := queryCounterparties(ctx, q, ` WHERE p.suid = ?`, suid)
	return only(rows, err, "Counterparty", suid)
}

func (p *counterpartyRow) render() any {
	owner := object{"cuid", p.cuid, "name", p.customerName}
	accounts := make([]any, len(p.accounts))
	for i, a := range p.accounts {
		accounts[i] = object{"accountId", a.id, "currencyCode", a.currency, "status", nameOf(counterpartyStatuses, a.status),
			"name", a.name, "number", a.number, "type", a.kind, "supportedRails", []string{a.rails},
			"createdAt", stamp(a.created), "updatedAt", stamp(a.updated), "bank", object{"name", p.bank},
			"counterparty", object{"counterpartyId", p.suid, "name", p.name}, "customer", owner}
	}
	return object{"counterpartyId", p.suid, "description", p.description, "createdAt", stamp(p.created), "updatedAt",
		stamp(p.updated),
		"profile", json.RawMessage(p.profile), "customer", owner, "accounts", accounts}
}

// listCounterparties: GET /v2/counterparty.
func listCounterparties(c *call) (any, error) {
	q, w := c.r.URL.Query(), &where{}
	w.equal("p.suid", q.Get("counterpartyId"))
	w.contains("p.name", q.Get("counterpartyName"))
	w.equal("c.cuid", q.Get("customerId"))
	w.contains("c.display", q.Get("customerName"))
	if err := w.between(c, "p.created", "fromCreatedAt", "toCreatedAt"); err != nil {
		return nil, err
	}
	return listPage(c, counterpartyFrom, w, "p.created DESC, p.n", queryCounterparties, (*counterpartyRow).render)
}

// getCounterparty: GET /v2/counterparty/{counterpartyId}.
func getCounterparty(c *call) (any, error) {
	p, err := findCounterparty(c.ctx, c.ro, c.params[0])
	return item(p.render()), err
}
