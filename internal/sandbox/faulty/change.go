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
	"account":      {"NEW", "MODERATION", "MODERATED", "ACCEPT", "REJECTED", "BANNED", "PROCESSING"},
	"requisite":    {"NEW", "MODERATION", "MODERATED", "ACCEPT", "REJECTED", "BANNED", "PROCESSING"},
	"counterparty": {"NEW", "MODERATION", "MODERATED", "ACCEPT", "REJECT", "BANNED", "PROGRESS"},
}

// Change makes a change of data.
func (d Data) Change(ctx context.Context, ch Change) error {
	code := slices.Index(statuses[ch.Kind], ch.Status)
	if code < 0 && ch.Status != "" {
		return fmt.Errorf("sandbox: unknown status %s", ch.Status)
	}
	return d.Alter(ctx, func(tx sandbox.Tx) error {
		at := d.Now().UTC()
		over := patch{"updatedAt": at}
		if ch.Status != "" {
			over["status"] = ch.Status
		}
		if ch.Name != "" {
			over["name"] = ch.Name
		}
		switch ch.Kind {
		case "operation":
			return d.changeOperation(ctx, tx, ch, code, at.UnixNano())
		case "customer":
			if ch.Name != "" {
				over["display"] = ch.Name
			}
			if ch.Status == "ACCEPT" {
				if _, err := tx.ExecContext(ctx, `UPDATE record SET doc = json_set(doc, '$.onboardingAt', ?)
					WHERE kind = 'customer' AND id = ? AND doc ->> 'onboardingAt' IS NULL`, at.Format(time.RFC3339Nano),
					ch.ID); err != nil {
					return err
				}
			}
			return errors.Join(amend(ctx, tx, "customer", ch.ID, over), tx.Raise("customer", ch.ID))
		case "account", "requisite":
			if ch.Units != "" {
				over["balance"] = patch{"sum": patch{"units": ch.Units, "nanos": ch.Nanos}}
			}
			if ch.Kind == "requisite" {
				over["requisites"] = ch.Set
			}
			return errors.Join(amend(ctx, tx, "account", ch.ID, over), tx.Raise(ch.Kind, ch.ID))
		case "counterparty":
			return changePayee(ctx, tx, ch.ID, over)
		case "document":
			return d.changeDocument(ctx, tx, ch, at.UnixNano())
		}
		return fmt.Errorf("sandbox: %q cannot be changed", ch.Kind)
	})
}

// amend puts a merge patch over a record.
func amend(ctx context.Context, tx sandbox.Tx, kind, id string, over patch) error {
	return one(ctx, tx, `UPDATE record SET doc = json_patch(doc, ?) WHERE kind = ? AND id = ?`, string(encode(over)),
		kind, id)
}

// changePayee puts a merge patch over an account of a counterparty.
func changePayee(ctx context.Context, tx sandbox.Tx, account string, over patch) error {
	var id, path string
	err := tx.QueryRowContext(ctx, `SELECT record.id, fullkey FROM record, json_each(doc, '$.accounts')
		WHERE kind = 'counterparty' AND value ->> 'accountId' = ?`, account).Scan(&id, &path)
	if err != nil {
		return err
	}
	return errors.Join(one(ctx, tx, `UPDATE record SET doc = json_set(doc, ?1, json_patch(doc -> ?1, ?2))
		WHERE kind = 'counterparty' AND id = ?3`, path, string(encode(over)), id), tx.Raise("counterparty", id))
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

func (d Data) changeOperation(ctx context.Context, tx sandbox.Tx, ch Change, status int, at int64) error {
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
	err = one(ctx, tx, `UPDATE operation SET status = ifnull(nullif(?, -1), status),
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
		if err := d.changeOperation(ctx, tx, Change{ID: opidOf(raw)}, -1, at); err != nil {
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
		err := tx.QueryRowContext(ctx, `SELECT json_group_array(id ORDER BY n) FROM record
			WHERE kind = 'customer' AND doc ->> 'type' = ? AND NOT doc ->> 'shared'`, kind).Scan(&list)
		return errors.Join(err, json.Unmarshal([]byte(list), &cuids))
	})
	return cuids, err
}
