package faulty

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"opdeck/internal/sandbox"
)

// Data are the data of a service, to be read and changed past the contract.
type Data struct {
	*sandbox.Service
	shown *patches
}

// Of are the data of a service.
func Of(s *sandbox.Service) Data { return Data{s, &patches{of: map[string]patch{}}} }

// Change is a change of data by the service's own staff. It raises its event.
type Change struct {
	// Kind is operation, customer, account, requisite, counterparty (an account
	// of it) or document.
	Kind   string
	ID     string
	Status string // REST name; "" keeps it
	Name   string // customer, account
	Units  string // account: new balance
	Nanos  int64
	Lock   *bool           // document
	Set    json.RawMessage // operation: merge patch over its REST shape, webhooks excepted; requisite: the new list
	Unset  bool            // operation: forget an earlier patch
	Quiet  bool            // operation: no webhook
	Still  bool            // operation: updatedAt is unchanged
}

// statuses are the names of states by their code.
var statuses = map[string][]string{
	"operation":    {"NOTSET", "PENDING", "PROCESSING", "SUCCESS", "FAILED", "CANCELED", "COMPLETED"},
	"customer":     {"NEW", "MODERATION", "MODERATED", "ACCEPT", "REJECT", "BANNED", "VERIFY"},
	"account":      {"NEW", "MODERATION", "MODERATED", "ACCEPTED", "REJECTED", "BANNED", "PROCESSING"},
	"requisite":    {"NEW", "MODERATION", "MODERATED", "ACCEPTED", "REJECTED", "BANNED", "PROCESSING"},
	"counterparty": {"NEW", "MODERATION", "MODERATED", "ACCEPT", "REJECT", "BANNED", "PROGRESS"},
}

// Change makes a change of data.
func (d Data) Change(ctx context.Context, ch Change) error {
	var status any // nil: unchanged
	if ch.Status != "" {
		code := slices.Index(statuses[ch.Kind], ch.Status)
		if code < 0 {
			return fmt.Errorf("sandbox: unknown status %s", ch.Status)
		}
		status = code
	}
	return d.Alter(ctx, func(tx sandbox.Tx) error {
		at := d.Now().UnixNano()
		switch ch.Kind {
		case "operation":
			return d.changeOperation(ctx, tx, ch, status, at)
		case "customer":
			return errors.Join(one(ctx, tx, `UPDATE customer SET status = ifnull(?1, status), updated = max(?3, updated + 1),
				display = ifnull(nullif(?2, ''), display), name = ifnull(nullif(?2, ''), name),
				onboarded = iif(onboarded = 0 AND ifnull(?1, status) = 3, ?3, onboarded) WHERE cuid = ?4`,
				status, ch.Name, at, ch.ID), tx.Raise("customer", ch.ID))
		case "account", "requisite":
			list := ""
			if ch.Kind == "requisite" {
				list = string(ch.Set)
			}
			return errors.Join(one(ctx, tx, `UPDATE account SET status = ifnull(?1, status), updated = max(?6, updated + 1),
				name = ifnull(nullif(?2, ''), name), nanos = iif(?3 = '', nanos, ?4), units = ifnull(nullif(?3, ''), units),
				requisites = ifnull(nullif(?5, ''), requisites) WHERE id = ?7`,
				status, ch.Name, ch.Units, ch.Nanos, list, at, ch.ID), tx.Raise(ch.Kind, ch.ID))
		case "counterparty":
			var suid string
			if err := tx.QueryRowContext(ctx, `UPDATE cpaccount SET status = ifnull(?, status), updated = ? WHERE id = ?
				RETURNING (SELECT suid FROM counterparty WHERE n = counterparty)`, status, at, ch.ID).Scan(&suid); err != nil {
				return err
			}
			return tx.Raise("counterparty", suid)
		case "document":
			return d.changeDocument(ctx, tx, ch, at)
		}
		return fmt.Errorf("sandbox: %q cannot be changed", ch.Kind)
	})
}

// one runs a statement that must change one row.
func one(ctx context.Context, tx sandbox.Tx, text string, args ...any) error {
	result, err := tx.ExecContext(ctx, text, args...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, errors.New("sandbox: no such record"))
	}
	return nil
}

func (d Data) changeOperation(ctx context.Context, tx sandbox.Tx, ch Change, status any, at int64) error {
	n, err := tx.Number(ch.ID)
	if err != nil {
		return err
	}
	if ch.Unset {
		d.shown.forget(ch.ID)
	}
	if ch.Set != nil {
		over := patch{}
		if err := decode(ch.Set, &over); err != nil {
			return err
		}
		d.shown.add(ch.ID, over)
	}
	err = one(ctx, tx, `UPDATE operation SET status = ifnull(?, status),
		updated = iif(?, updated, max(?, updated + 1)) WHERE n = ?`, status, ch.Still, at, n)
	if err != nil || ch.Quiet {
		return err
	}
	return tx.Raise("operation", ch.ID)
}

// changeDocument locks or unlocks a document; the operations with it raise events.
func (d Data) changeDocument(ctx context.Context, tx sandbox.Tx, ch Change, at int64) error {
	guid, err := uuid.Parse(ch.ID)
	if err != nil {
		return err
	}
	if err := one(ctx, tx, `UPDATE file SET locked = ? WHERE guid = ?`, *ch.Lock, guid[:]); err != nil {
		return err
	}
	list, err := tx.Operations(`WHERE o.n IN (SELECT op FROM link JOIN file f ON f.n = file WHERE f.guid = ?)`, guid[:])
	if err != nil {
		return err
	}
	for _, raw := range list {
		if err := d.changeOperation(ctx, tx, Change{ID: opidOf(raw)}, nil, at); err != nil {
			return err
		}
	}
	return nil
}

// Insert is a batch of new operations.
type Insert struct {
	Count int
	// Created is the creation time of the first; each further one is a millisecond newer. Zero: now, or after the
	// newest operation.
	Created time.Time
	Quiet   bool // without webhooks
}

// Insert adds operations and returns their ids in order.
func (d Data) Insert(ctx context.Context, in Insert) (opids []string, err error) {
	err = d.Alter(ctx, func(tx sandbox.Tx) error {
		at := in.Created.UnixNano()
		if in.Created.IsZero() {
			err := tx.QueryRowContext(ctx, `SELECT max(?, ifnull(max(created), 0) + 1000000) FROM operation`,
				d.Now().UnixNano()).Scan(&at)
			if err != nil {
				return err
			}
		}
		for i := range in.Count {
			opid, err := tx.Insert(at+int64(i)*int64(time.Millisecond), in.Quiet)
			if err != nil {
				return err
			}
			opids = append(opids, opid)
		}
		return nil
	})
	return opids, err
}

// Remove deletes operations, without a webhook. An unknown id is an error.
func (d Data) Remove(ctx context.Context, opids ...string) error {
	return d.Alter(ctx, func(tx sandbox.Tx) error {
		for _, opid := range opids {
			n, err := tx.Number(opid)
			if err != nil {
				return err
			}
			_, err = tx.ExecContext(ctx, `DELETE FROM link WHERE op = ?1; DELETE FROM operation WHERE n = ?1`, n)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Operation returns an operation in its REST shape; an unknown id is an error.
func (d Data) Operation(ctx context.Context, opid string) (raw json.RawMessage, err error) {
	err = d.Alter(ctx, func(tx sandbox.Tx) error {
		n, err := tx.Number(opid)
		if err != nil {
			return err
		}
		list, err := tx.Operations(`WHERE o.n = ?`, n)
		if err == nil {
			raw = d.shown.operation(list[0])
		}
		return err
	})
	return raw, err
}

// Operations returns all operations in their REST shape, newest first: the true state.
func (d Data) Operations(ctx context.Context) (list []json.RawMessage, err error) {
	const step = 500 // rows per query: a limit of SQLite's parameters
	err = d.Alter(ctx, func(tx sandbox.Tx) error {
		for {
			some, err := tx.Operations(`ORDER BY o.created DESC, o.n LIMIT ? OFFSET ?`, step, len(list))
			if err != nil || len(some) == 0 {
				return err
			}
			for _, raw := range some {
				list = append(list, d.shown.operation(raw))
			}
		}
	})
	return list, err
}

// Delivery is a webhook with its state.
type Delivery struct {
	HookID   string
	HookType int
	Attempts int
	Status   string
	State    string // waiting, delivered, given up
	Body     json.RawMessage
}

// Outbox returns the last 200 webhooks, the newest first.
func (d Data) Outbox(ctx context.Context) (list []Delivery, err error) {
	err = d.Alter(ctx, func(tx sandbox.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT hook_id, hook_type, CAST(body AS BLOB), attempts, status, state
			FROM outbox ORDER BY id DESC LIMIT 200`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var e Delivery
			if err := rows.Scan(&e.HookID, &e.HookType, &e.Body, &e.Attempts, &e.Status, &e.State); err != nil {
				return err
			}
			list = append(list, e)
		}
		return rows.Err()
	})
	return list, err
}

// Removal is one line of the audit trail of document removals.
type Removal struct{ Login, Opid, Document, Outcome string }

// Removals returns the audit trail of document removals (spec, rule 3).
func (d Data) Removals(ctx context.Context) (list []Removal, err error) {
	err = d.Alter(ctx, func(tx sandbox.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT login, opid, document, outcome FROM removal ORDER BY id`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var r Removal
			if err := rows.Scan(&r.Login, &r.Opid, &r.Document, &r.Outcome); err != nil {
				return err
			}
			list = append(list, r)
		}
		return rows.Err()
	})
	return list, err
}

// Configure changes the settings that a JSON object gives, by their names in the file.
func (d Data) Configure(ctx context.Context, in json.RawMessage) error {
	return d.Alter(ctx, func(tx sandbox.Tx) error {
		return one(ctx, tx, `UPDATE setting SET value = json_patch(value, ?) WHERE name = 'settings'`, string(in))
	})
}

// ForeignLogin simulates a login by another client: the access tokens of the current pairs end.
func (d Data) ForeignLogin(ctx context.Context) error {
	return d.Alter(ctx, func(tx sandbox.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE pair SET access_dead = 1, refresh_dead = max(refresh_dead,
			(SELECT ifnull(value ->> 'strict_login', 0) FROM setting WHERE name = 'settings'))`)
		return err
	})
}

// Revoke ends every pair of the account.
func (d Data) Revoke(ctx context.Context) error {
	return d.Alter(ctx, func(tx sandbox.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE pair SET access_dead = 1, refresh_dead = 1`)
		return err
	})
}

// Unshared are the customers of that kind to whom no share token was applied.
func (d Data) Unshared(ctx context.Context, kind string) (cuids []string, err error) {
	err = d.Alter(ctx, func(tx sandbox.Tx) error {
		var list string
		err := tx.QueryRowContext(ctx, `SELECT json_group_array(cuid ORDER BY n) FROM customer WHERE type = ? AND shared = 0`,
			kind).Scan(&list)
		return errors.Join(err, json.Unmarshal([]byte(list), &cuids))
	})
	return cuids, err
}
