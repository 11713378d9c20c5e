package sandbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"time"
)

// adminTable are the endpoints under /sandbox/: not part of the service, not counted, without login. Bodies are JSON,
// so that other web pages cannot post them.
func adminTable() []route {
	return []route{
		{pattern: "GET /sandbox/stats", handle: read((*store).Stats)},
		{pattern: "DELETE /sandbox/stats", handle: func(c *call) (any, error) { return done, c.resetStats(c.ctx) }},
		{pattern: "GET /sandbox/auth-log", handle: read((*store).AuthLog)},
		{pattern: "GET /sandbox/removals", handle: read((*store).Removals)},
		{pattern: "GET /sandbox/outbox", handle: adminOutbox},
		{pattern: "GET /sandbox/settings", handle: adminSettings},
		{pattern: "PATCH /sandbox/settings", handle: with(adminSetSettings)},
		{pattern: "PUT /sandbox/faults", handle: with(adminFaults)},
		{pattern: "POST /sandbox/login", handle: order((*store).ForeignLogin)},
		{pattern: "POST /sandbox/revoke", handle: order((*store).revoke)},
		{pattern: "POST /sandbox/change", handle: with(adminChange)},
		{pattern: "GET /sandbox/operations", handle: adminOperations},
		{pattern: "POST /sandbox/insert", handle: with(adminInsert)},
		{pattern: "POST /sandbox/remove", handle: with(adminRemove)},
		{pattern: "POST /sandbox/step", handle: order((*store).Step)},
		{pattern: "GET /sandbox/share-tokens", handle: read((*store).ShareTokens)},
		{pattern: "POST /sandbox/share-tokens", handle: with(adminIssueShare)},
		{pattern: "GET /sandbox/verify/{id}", handle: openVerify},
		{pattern: "POST /sandbox/verify/{id}", handle: submitVerify},
	}
}

// read returns a handler with the result of f.
func read[T any](f func(*store, context.Context) (T, error)) handler {
	return func(c *call) (any, error) { return f(c.store, c.ctx) }
}

// order returns a handler that runs f on a request with an empty JSON object.
func order(f func(*store, context.Context) error) handler {
	return with(func(c *call, _ struct{}) (any, error) { return done, f(c.store, c.ctx) })
}

var done = action(true, "done")

func admin(c *call, rt route) answer {
	var err error
	if c.st, err = loadSettings(c.ctx, c.ro); err != nil {
		return failure(err)
	}
	return run(c, rt)
}

type shareTokenIn struct{ Kind, Scenario, Customer string }

func adminIssueShare(c *call, in shareTokenIn) (any, error) {
	return c.IssueShareToken(c.ctx, in.Kind, in.Scenario, in.Customer)
}

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

// outboxEvent is a webhook with its delivery state.
type outboxEvent struct {
	HookID   string          `json:"hook_id"`
	HookType int             `json:"hook_type"`
	Created  time.Time       `json:"created"`
	Attempts int             `json:"attempts"`
	Status   string          `json:"status"`
	State    string          `json:"state"`
	Body     json.RawMessage `json:"body"`
}

func adminOutbox(c *call) (any, error) {
	columns := func(e *outboxEvent) []any {
		return []any{&e.HookID, &e.HookType, &e.Body, unixNano{&e.Created}, &e.Attempts, &e.Status, &e.State}
	}
	return query(c.ctx, c.ro, columns, `SELECT hook_id, hook_type, CAST(body AS BLOB), created, attempts, status, state
		FROM outbox ORDER BY id DESC LIMIT 200`)
}

func adminSettings(c *call) (any, error) {
	c.st.SigningKey = nil
	return c.st, nil
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

func adminSetSettings(c *call, in json.RawMessage) (any, error) {
	return done, c.changeSettings(c.ctx, func(st *settings) error {
		kept := *st
		if err := json.Unmarshal(in, st); err != nil {
			return refuse(http.StatusBadRequest, err.Error())
		}
		st.SigningKey, st.Seed, st.Ordinary, st.Operations = kept.SigningKey, kept.Seed, kept.Ordinary, kept.Operations
		return nil
	})
}

// SetFaults replaces the faults and resets the rules' counts.
func (s *store) SetFaults(ctx context.Context, f Faults) error {
	err := s.changeSettings(ctx, func(st *settings) error {
		st.Faults = f.String()
		return nil
	})
	if err != nil {
		return err
	}
	return s.write(ctx, func(tx *sql.Tx) error {
		return execute(ctx, tx, `DELETE FROM counter WHERE name LIKE 'fault.%' OR name LIKE 'fired.%'`)
	})
}

type faultsIn struct{ Spec string }

func adminFaults(c *call, in faultsIn) (any, error) {
	f, err := ParseFaults(in.Spec)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, err.Error())
	}
	return done, c.SetFaults(c.ctx, f)
}

// ForeignLogin simulates a login by another client, with all its effects on the current pairs.
func (s *store) ForeignLogin(ctx context.Context) error {
	return s.change(ctx, func(c *call, tx *sql.Tx) error {
		if _, err := newLogin(c, tx, "foreign"); err != nil {
			return err
		}
		return logAuth(c, tx, "foreign", "", "")
	})
}

// revoke ends every pair of the account.
func (s *store) revoke(ctx context.Context) error {
	return s.change(ctx, func(c *call, tx *sql.Tx) error {
		if err := killAll(ctx, tx); err != nil {
			return err
		}
		return logAuth(c, tx, "foreign", "", "")
	})
}
