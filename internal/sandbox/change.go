package sandbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
)

// Change is a change of data by the service's own staff. It raises its event.
type Change struct {
	// Kind is operation, customer, account, requisite, counterparty (an account
	// of it) or document.
	Kind   string          `json:"kind"`
	ID     string          `json:"id"`
	Status string          `json:"status,omitempty"` // REST name; "" keeps it
	Name   string          `json:"name,omitempty"`   // customer, account
	Units  string          `json:"units,omitempty"`  // account: new balance
	Nanos  int64           `json:"nanos,omitempty"`
	Lock   *bool           `json:"lock,omitempty"`  // document
	Set    json.RawMessage `json:"set,omitempty"`   // operation: merge patch over its REST shape; requisite: the new list
	Unset  bool            `json:"unset,omitempty"` // operation: forget an earlier patch
	Quiet  bool            `json:"quiet,omitempty"` // operation: no webhook
	Still  bool            `json:"still,omitempty"` // operation: updatedAt is unchanged
}

// Change makes a change of data.
func (s *store) Change(ctx context.Context, ch Change) error {
	kinds := map[string]func(*call, *sql.Tx, Change) error{
		"operation": changeOperation, "customer": changeCustomer, "account": changeAccount, "requisite": changeAccount,
		"counterparty": changeCounterparty, "document": changeDocument,
	}
	f, known := kinds[ch.Kind]
	if !known {
		return refuse(http.StatusBadRequest, "kind must be operation, customer, account, requisite, counterparty or document")
	}
	return s.change(ctx, func(c *call, tx *sql.Tx) error { return f(c, tx, ch) })
}

// change runs f in one transaction, like a call by the service itself.
func (s *store) change(ctx context.Context, f func(c *call, tx *sql.Tx) error) error {
	c := &call{store: s, ctx: context.WithoutCancel(ctx), at: s.clock()}
	c.now = c.at
	return s.write(ctx, func(tx *sql.Tx) (err error) {
		if c.st, err = loadSettings(ctx, tx); err != nil {
			return err
		}
		return f(c, tx)
	})
}

// newStatus returns the code of the wanted status, or the old one.
func newStatus(names []string, want string, old int) (int, error) {
	if want == "" {
		return old, nil
	}
	code := codeOf(names, want)
	if code < 0 {
		return 0, refuse(http.StatusBadRequest, "Unknown status: "+want)
	}
	return code, nil
}

func changeOperation(c *call, tx *sql.Tx, ch Change) error {
	o, err := findOperation(c, tx, ch.ID)
	if err != nil {
		return err
	}
	status, err := newStatus(operationStatuses, ch.Status, o.status)
	if err != nil {
		return err
	}
	if ch.Unset {
		o.extra = sql.NullString{}
	}
	if ch.Set != nil {
		base := "{}"
		if o.extra.Valid {
			base = o.extra.String
		}
		o.extra = sql.NullString{String: string(mergePatch([]byte(base), ch.Set)), Valid: true}
	}
	if err := execute(c.ctx, tx, `UPDATE operation SET extra = ? WHERE n = ?`, o.extra, o.n); err != nil {
		return err
	}
	return moveOperation(c, tx, &o, status, move{ch.Quiet, ch.Still})
}

func changeCustomer(c *call, tx *sql.Tx, ch Change) error {
	row, err := findCustomer(c.ctx, tx, ch.ID)
	if err != nil {
		return err
	}
	if row.status, err = newStatus(customerStatuses, ch.Status, row.status); err != nil {
		return err
	}
	if ch.Name != "" {
		row.display, row.name = ch.Name, ch.Name
	}
	if row.onboarded == 0 && nameOf(customerStatuses, row.status) == "ACCEPT" {
		row.onboarded = c.at.UnixNano()
	}
	return saveCustomer(c, tx, row)
}

func changeAccount(c *call, tx *sql.Tx, ch Change) error {
	a, err := findAccount(c.ctx, tx, ch.ID)
	if err != nil {
		return err
	}
	if a.status, err = newStatus(accountStatuses, ch.Status, a.status); err != nil {
		return err
	}
	set(&a.name, ch.Name)
	if ch.Units != "" {
		a.balance.units, a.balance.nanos = ch.Units, ch.Nanos
	}
	hookType := hookAccount
	if ch.Kind == "requisite" {
		hookType = hookRequisite
		if ch.Set != nil {
			a.requisites = string(ch.Set)
		}
	}
	a.updated = max(c.at.UnixNano(), a.updated+1)
	err = execute(c.ctx, tx,
		`UPDATE account SET status = ?, name = ?, units = ?, nanos = ?, requisites = ?, updated = ? WHERE n = ?`,
		a.status, a.name, a.balance.units, a.balance.nanos, a.requisites, a.updated, a.n)
	if err != nil {
		return err
	}
	return raiseAccount(c, tx, a, hookType)
}

func changeCounterparty(c *call, tx *sql.Tx, ch Change) error {
	rows, err := queryPayeeAccounts(c.ctx, tx, ` WHERE k.id = ?`, ch.ID)
	a, err := only(rows, err, "Counterparty account", ch.ID)
	if err != nil {
		return err
	}
	status, err := newStatus(counterpartyStatuses, ch.Status, a.status)
	if err != nil {
		return err
	}
	if err := execute(c.ctx, tx, `UPDATE cpaccount SET status = ?, updated = ? WHERE n = ?`, status, c.at.UnixNano(),
		a.n); err != nil {
		return err
	}
	owner, err := findCounterparty(c.ctx, tx, a.suid)
	if err != nil {
		return err
	}
	return raiseCounterparty(c, tx, owner)
}

// changeDocument locks or unlocks a document; the operations with it raise events.
func changeDocument(c *call, tx *sql.Tx, ch Change) error {
	f, err := findFile(c.ctx, tx, "", ch.ID)
	switch {
	case err != nil:
		return err
	case ch.Lock == nil:
		return refuse(http.StatusBadRequest, "lock must be true or false")
	}
	if err := execute(c.ctx, tx, `UPDATE file SET locked = ? WHERE n = ?`, *ch.Lock, f.n); err != nil {
		return err
	}
	ops, err := queryOperations(c.ctx, tx, `WHERE o.n IN (SELECT op FROM link WHERE file = ?)`, f.n)
	if err != nil {
		return err
	}
	for _, o := range ops {
		if err := moveOperation(c, tx, &o, o.status, move{}); err != nil {
			return err
		}
	}
	return nil
}
