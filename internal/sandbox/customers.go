package sandbox

import (
	"context"
	"database/sql"
	"encoding/json"
)

type customerRow struct {
	n                                    int64
	cuid, puid, kind, display            string
	name, lastname, company, comment     string
	email, phone                         string
	status                               int
	created, updated, onboarded, shared  int64
	application, appStatus, outstandJSON string
}

const customerSelect = `SELECT n, cuid, puid, type, display, name, lastname, company, comment, email, phone, status,
	created, updated, onboarded, shared, app, app_status, outstanding FROM customer`

func queryCustomers(ctx context.Context, q querier, tail string, args ...any) ([]customerRow, error) {
	return query(ctx, q, (*customerRow).columns, customerSelect+tail, args...)
}

func (c *customerRow) columns() []any {
	return []any{&c.n, &c.cuid, &c.puid, &c.kind, &c.display, &c.name, &c.lastname, &c.company, &c.comment, &c.email,
		&c.phone, &c.status,
		&c.created, &c.updated, &c.onboarded, &c.shared, &c.application, &c.appStatus, &c.outstandJSON}
}

func findCustomer(ctx context.Context, q querier, cuid string) (customerRow, error) {
	rows, err := queryCustomers(ctx, q, ` WHERE cuid = ?`, cuid)
	return only(rows, err, "Customer", cuid)
}

// outstanding are the document sets that are still missing.
func (c *customerRow) outstanding() []string {
	list := []string{}
	if json.Unmarshal([]byte(c.outstandJSON), &list) != nil {
		return []string{}
	}
	return list
}

func (c *customerRow) setOutstanding(list []string) {
	if list == nil {
		list = []string{}
	}
	c.outstandJSON = string(encode(list))
}

func (c *customerRow) render() any {
	var onboarded any
	if c.onboarded != 0 {
		onboarded = stamp(c.onboarded)
	}
	return object{"cuid", c.cuid, "puid", c.puid, "type", c.kind, "status", nameOf(customerStatuses, c.status), "name",
		c.name, "lastname", c.lastname,
		"company", c.company, "comment", c.comment, "email", c.email, "phone", c.phone,
		"createdAt", stamp(c.created), "updatedAt", stamp(c.updated), "onboardingAt", onboarded}
}

// saveCustomer writes what may change and raises the event.
func saveCustomer(c *call, tx *sql.Tx, row customerRow) error {
	row.updated = max(c.at.UnixNano(), row.updated+1)
	err := execute(c.ctx, tx, `UPDATE customer SET status = ?, display = ?, name = ?, lastname = ?, comment = ?,
		updated = ?, onboarded = ?, shared = ?, app = ?, app_status = ?, outstanding = ? WHERE n = ?`,
		row.status, row.display, row.name, row.lastname, row.comment, row.updated, row.onboarded, row.shared, row.application,
		row.appStatus, row.outstandJSON, row.n)
	if err != nil {
		return err
	}
	return raiseCustomer(c, tx, row)
}

// listCustomers: GET /v2/customer.
func listCustomers(c *call) (any, error) {
	q, w := c.r.URL.Query(), &where{}
	w.equal("cuid", q.Get("customerId"))
	w.contains("display", q.Get("customerName"))
	w.equal("type", q.Get("type"))
	w.code("status", customerStatuses, q.Get("status"))
	if err := w.between(c, "created", "fromCreateAt", "toCreateAt"); err != nil {
		return nil, err
	}
	return listPage(c, ` FROM customer`, w, "created DESC, n", queryCustomers, (*customerRow).render)
}

// getCustomer: GET /v2/customer/{customerId}.
func getCustomer(c *call) (any, error) {
	row, err := findCustomer(c.ctx, c.ro, c.params[0])
	return item(row.render()), err
}
