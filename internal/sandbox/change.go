package sandbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// Tx is a change of the data that no call of the contract makes: what package faulty does.
type Tx struct {
	*sql.Tx
	call *call
}

// Alter runs f in one transaction; an error of f undoes it.
func (s *store) Alter(ctx context.Context, f func(tx Tx) error) error {
	defer s.notifyDeliverer()
	return s.change(ctx, func(c *call, tx *sql.Tx) error { return f(Tx{tx, c}) })
}

// Number is the number of an operation in the data; an unknown id is an error.
func (t Tx) Number(opid string) (int64, error) {
	o, err := findOperation(t.call, t.Tx, opid)
	return o.n, err
}

// Operations returns the operations that the rest of a query selects, in their REST shape.
func (t Tx) Operations(tail string, args ...any) ([]json.RawMessage, error) {
	ops, err := queryOperations(t.call.ctx, t.Tx, tail, args...)
	if err != nil {
		return nil, err
	}
	shown, err := renderAll(t.call.ctx, t.Tx, t.call.st.Seed, ops)
	list := make([]json.RawMessage, len(shown))
	for i := range shown {
		list[i] = encode(shown[i])
	}
	return list, err
}

// Insert adds a pending operation, without an event if it is quiet, and returns its id.
func (t Tx) Insert(created int64, quiet bool) (opid string, err error) {
	return insertOne(t.call, t.Tx, newWorld(t.call.st.Seed, baseTime, 0), newcomer{created: created, quiet: quiet})
}

// Raise puts the event of a record, as it is now, into the outbox, if the settings request it.
func (t Tx) Raise(kind, id string) error {
	c := t.call
	switch kind {
	case "operation":
		o, err := findOperation(c, t.Tx, id)
		if err != nil {
			return err
		}
		return raiseOperation(c, t.Tx, o)
	case "customer":
		row, err := findCustomer(c.ctx, t.Tx, id)
		if err != nil {
			return err
		}
		return raiseCustomer(c, t.Tx, row)
	case "account", "requisite":
		a, err := find[account](c.ctx, t.Tx, kindAccount, "Account", id)
		if err != nil {
			return err
		}
		return raiseAccount(c, t.Tx, a, map[string]int{"account": hookAccount, "requisite": hookRequisite}[kind])
	case "counterparty":
		p, err := find[counterparty](c.ctx, t.Tx, kindCounterparty, "Counterparty", id)
		if err != nil {
			return err
		}
		return raiseCounterparty(c, t.Tx, p)
	}
	return fmt.Errorf("sandbox: no event of %q", kind)
}
