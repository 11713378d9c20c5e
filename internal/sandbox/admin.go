package sandbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"time"
)

// Removal is one line of the audit trail of document removals.
type Removal struct {
	At       time.Time `json:"at"`
	Login    string    `json:"login"`
	Token    string    `json:"token"` // fingerprint of the access token
	Opid     string    `json:"opid"`
	Document string    `json:"document"`
	Outcome  string    `json:"outcome"` // removed, or refused: and why
}

// Removals returns the audit trail of document removals (spec, rule 3).
func (s *store) Removals(ctx context.Context) ([]Removal, error) {
	return query(ctx, s.ro, func(r *Removal) []any {
		return []any{unixNano{&r.At}, &r.Login, &r.Token, &r.Opid, &r.Document, &r.Outcome}
	},
		`SELECT at, login, token, opid, document, outcome FROM removal ORDER BY id`)
}

// Delivery is a webhook with its state.
type Delivery struct {
	HookID   string          `json:"hook_id"`
	HookType int             `json:"hook_type"`
	Created  time.Time       `json:"created"`
	Attempts int             `json:"attempts"`
	Status   string          `json:"status"`
	State    string          `json:"state"` // waiting, delivered, given up
	Body     json.RawMessage `json:"body"`
}

// Outbox returns the last 200 webhooks, the newest first.
func (s *store) Outbox(ctx context.Context) ([]Delivery, error) {
	columns := func(e *Delivery) []any {
		return []any{&e.HookID, &e.HookType, &e.Body, unixNano{&e.Created}, &e.Attempts, &e.Status, &e.State}
	}
	return query(ctx, s.ro, columns, `SELECT hook_id, hook_type, CAST(body AS BLOB), created, attempts, status, state
		FROM outbox ORDER BY id DESC LIMIT 200`)
}

// changeSettings runs f on the settings and stores the result if it is valid.
func (s *store) changeSettings(ctx context.Context, f func(*settings) error) error {
	err := s.change(ctx, func(c *call, tx *sql.Tx) error {
		if err := f(&c.st); err != nil {
			return err
		}
		if err := c.st.check(); err != nil {
			return refuse(http.StatusBadRequest, err.Error())
		}
		return storeSettings(ctx, tx, c.st)
	})
	s.notifyDeliverer()
	return err
}

// Configure changes the settings that a JSON object gives, by their names in the file; the sample data stay.
func (s *store) Configure(ctx context.Context, in json.RawMessage) error {
	return s.changeSettings(ctx, func(st *settings) error {
		kept := *st
		if err := json.Unmarshal(in, st); err != nil {
			return refuse(http.StatusBadRequest, err.Error())
		}
		st.SigningKey, st.Seed, st.Ordinary, st.Operations = kept.SigningKey, kept.Seed, kept.Ordinary, kept.Operations
		return nil
	})
}
