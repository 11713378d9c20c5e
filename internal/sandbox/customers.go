package sandbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
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

const customerSelect = `SELECT n, cuid, puid, type, display, name, lastname, company, comment, email, phone, status, created, updated, onboarded, shared, app, app_status, outstanding FROM customer`

func queryCustomers(ctx context.Context, q querier, tail string, args ...any) ([]customerRow, error) {
	rows, err := q.QueryContext(ctx, customerSelect+tail, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []customerRow
	for rows.Next() {
		var c customerRow
		err := rows.Scan(&c.n, &c.cuid, &c.puid, &c.kind, &c.display, &c.name, &c.lastname, &c.company, &c.comment, &c.email, &c.phone, &c.status,
			&c.created, &c.updated, &c.onboarded, &c.shared, &c.application, &c.appStatus, &c.outstandJSON)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, rows.Err()
}

func findCustomer(ctx context.Context, q querier, cuid string) (customerRow, bool, error) {
	list, err := queryCustomers(ctx, q, ` WHERE cuid = ?`, cuid)
	if err != nil || len(list) == 0 {
		return customerRow{}, false, err
	}
	return list[0], true, nil
}

// customer returns the customer or the refusal that it is unknown.
func (s *Service) customer(c *call, q querier, cuid string) (customerRow, error) {
	row, found, err := findCustomer(c.ctx, q, cuid)
	if err == nil && !found {
		err = refuse(http.StatusNotFound, "Customer not found: "+cuid)
	}
	return row, err
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
	c.outstandJSON = mustJSON(list)
}

func (c *customerRow) render() any {
	v := struct {
		Cuid         string  `json:"cuid"`
		Puid         string  `json:"puid"`
		Type         string  `json:"type"`
		Status       string  `json:"status"`
		Name         string  `json:"name"`
		Lastname     string  `json:"lastname"`
		Company      string  `json:"company"`
		Comment      string  `json:"comment"`
		Email        string  `json:"email"`
		Phone        string  `json:"phone"`
		CreateAt     string  `json:"createdAt"`
		UpdateAt     string  `json:"updatedAt"`
		OnboardingAt *string `json:"onboardingAt"`
	}{c.cuid, c.puid, c.kind, nameOf(customerStatuses, c.status), c.name, c.lastname, c.company, c.comment, c.email, c.phone, stamp(c.created), stamp(c.updated), nil}
	if c.onboarded != 0 {
		at := stamp(c.onboarded)
		v.OnboardingAt = &at
	}
	return v
}

// save writes what may change and raises the event.
func (s *Service) saveCustomer(c *call, tx *sql.Tx, row customerRow) error {
	row.updated = max(c.at.UnixNano(), row.updated+1)
	_, err := tx.ExecContext(c.ctx, `UPDATE customer SET status = ?, display = ?, name = ?, lastname = ?, comment = ?, updated = ?, onboarded = ?, shared = ?, app = ?, app_status = ?, outstanding = ? WHERE n = ?`,
		row.status, row.display, row.name, row.lastname, row.comment, row.updated, row.onboarded, row.shared, row.application, row.appStatus, row.outstandJSON, row.n)
	if err != nil {
		return err
	}
	return s.raiseCustomer(c.ctx, tx, c.st, row, c.at)
}

// listCustomers: GET /v2/customer.
func (s *Service) listCustomers(c *call) (answer, error) {
	p, err := c.page()
	if err != nil {
		return answer{}, err
	}
	q, w := c.r.URL.Query(), &where{}
	w.equal("cuid", q.Get("customerId"))
	w.contains("display", q.Get("customerName"))
	w.equal("type", q.Get("type"))
	w.code("status", customerStatuses, q.Get("status"))
	if err := w.between(c, "created", "fromCreateAt", "toCreateAt"); err != nil {
		return answer{}, err
	}
	total, err := count(c.ctx, s.ro, `SELECT count(*) FROM customer`+w.String(), w.args...)
	if err != nil {
		return answer{}, err
	}
	rows, err := queryCustomers(c.ctx, s.ro, w.String()+` ORDER BY created DESC, n LIMIT ? OFFSET ?`, append(w.args, p.size, p.offset())...)
	if err != nil {
		return answer{}, err
	}
	items := make([]any, len(rows))
	for i := range rows {
		items[i] = rows[i].render()
	}
	return p.list(total, items)
}

// getCustomer: GET /v2/customer/{customerId}.
func (s *Service) getCustomer(c *call) (answer, error) {
	row, err := s.customer(c, s.ro, c.params[0])
	if err != nil {
		return answer{}, err
	}
	return ok(itemJSON{row.render()})
}
