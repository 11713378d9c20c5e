package sandbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"time"
)

// adminTable are the endpoints under /sandbox/: not part of the service, not
// counted, open. Bodies are JSON, so that a web page elsewhere cannot post them.
func (s *Service) adminTable() []route {
	admin := func(method, path string, handle func(*call) (answer, error)) route {
		return route{method: method, path: "/sandbox/" + path, name: path, class: classAdmin, open: true, handle: handle}
	}
	return []route{
		admin("GET", "stats", s.adminStats),
		admin("DELETE", "stats", s.adminResetStats),
		admin("GET", "auth-log", s.adminAuthLog),
		admin("GET", "removals", s.adminRemovals),
		admin("GET", "outbox", s.adminOutbox),
		admin("GET", "settings", s.adminSettings),
		admin("PATCH", "settings", s.adminSetSettings),
		admin("PUT", "faults", s.adminFaults),
		admin("POST", "login", s.adminLogin),
		admin("POST", "revoke", s.adminRevoke),
		admin("POST", "change", s.adminChange),
		admin("GET", "operations", s.adminOperations),
		admin("POST", "insert", s.adminInsert),
		admin("POST", "remove", s.adminRemove),
		admin("POST", "step", s.adminStep),
		admin("GET", "share-tokens", s.adminShareTokens),
		admin("POST", "share-tokens", s.adminIssueShare),
		admin("GET", "verify/*", s.openVerify),
		admin("POST", "verify/*", s.submitVerify),
	}
}

func (s *Service) admin(c *call, rt route, known bool) answer {
	var err error
	if c.st, err = loadSettings(c.ctx, s.ro); err != nil {
		return failure(err)
	}
	return s.run(c, rt, known)
}

func done(err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return ok(actionJSON{Success: true, Message: "done"})
}

func answered[T any](v T, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return ok(v)
}

func (s *Service) adminStats(c *call) (answer, error)   { return answered(s.Stats(c.ctx)) }
func (s *Service) adminAuthLog(c *call) (answer, error) { return answered(s.AuthLog(c.ctx)) }
func (s *Service) adminResetStats(c *call) (answer, error) {
	return done(s.ResetStats(c.ctx))
}
func (s *Service) adminStep(c *call) (answer, error) {
	var in struct{}
	if err := c.bind(&in); err != nil {
		return answer{}, err
	}
	return done(s.Step(c.ctx))
}
func (s *Service) adminShareTokens(c *call) (answer, error) { return answered(s.ShareTokens(c.ctx)) }

func (s *Service) adminIssueShare(c *call) (answer, error) {
	var in struct{ Kind, Scenario, Customer string }
	if err := c.bind(&in); err != nil {
		return answer{}, err
	}
	return answered(s.IssueShareToken(c.ctx, in.Kind, in.Scenario, in.Customer))
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
func (s *Service) Removals(ctx context.Context) ([]Removal, error) {
	rows, err := s.ro.QueryContext(ctx, `SELECT at, login, token, opid, document, outcome FROM removal ORDER BY id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []Removal{}
	for rows.Next() {
		var r Removal
		var at int64
		if err := rows.Scan(&at, &r.Login, &r.Token, &r.Opid, &r.Document, &r.Outcome); err != nil {
			return nil, err
		}
		r.At = time.Unix(0, at).UTC()
		list = append(list, r)
	}
	return list, rows.Err()
}

func (s *Service) adminRemovals(c *call) (answer, error) { return answered(s.Removals(c.ctx)) }

func (s *Service) adminOutbox(c *call) (answer, error) {
	rows, err := s.ro.QueryContext(c.ctx, `SELECT hook_id, hook_type, body, created, attempts, status, state FROM outbox ORDER BY id DESC LIMIT 200`)
	if err != nil {
		return answer{}, err
	}
	defer rows.Close()
	list := []any{}
	for rows.Next() {
		var id, status, state, body string
		var kind, attempts int
		var created int64
		if err := rows.Scan(&id, &kind, &body, &created, &attempts, &status, &state); err != nil {
			return answer{}, err
		}
		list = append(list, patch{"hook_id": id, "hook_type": kind, "created": stamp(created), "attempts": attempts, "status": status, "state": state, "body": json.RawMessage(body)})
	}
	return answered(list, rows.Err())
}

func (s *Service) adminSettings(c *call) (answer, error) {
	c.st.SigningKey = nil
	return ok(c.st)
}

// changeSettings runs f over the settings and keeps the result when it is sound.
func (s *Service) changeSettings(ctx context.Context, f func(*settings) error) error {
	err := s.write(ctx, func(tx *sql.Tx) error {
		st, err := loadSettings(ctx, tx)
		if err != nil {
			return err
		}
		if err := f(&st); err != nil {
			return err
		}
		if err := st.check(); err != nil {
			return refuse(http.StatusBadRequest, err.Error())
		}
		return storeSettings(ctx, tx, st)
	})
	s.poke()
	return err
}

func (s *Service) adminSetSettings(c *call) (answer, error) {
	var in json.RawMessage
	if err := c.bind(&in); err != nil {
		return answer{}, err
	}
	err := s.changeSettings(c.ctx, func(st *settings) error {
		kept := *st
		if err := json.Unmarshal(in, st); err != nil {
			return refuse(http.StatusBadRequest, err.Error())
		}
		st.SigningKey, st.Seed, st.Operations = kept.SigningKey, kept.Seed, kept.Operations
		return nil
	})
	return done(err)
}

// SetFaults replaces the faults; counts of rules start anew.
func (s *Service) SetFaults(ctx context.Context, f Faults) error {
	err := s.changeSettings(ctx, func(st *settings) error {
		st.Faults = f.String()
		return nil
	})
	if err != nil {
		return err
	}
	return s.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM counter WHERE name LIKE 'fault.%' OR name LIKE 'fired.%'`)
		return err
	})
}

func (s *Service) adminFaults(c *call) (answer, error) {
	var in struct {
		Spec string `json:"spec"`
	}
	if err := c.bind(&in); err != nil {
		return answer{}, err
	}
	f, err := ParseFaults(in.Spec)
	if err != nil {
		return answer{}, refuse(http.StatusBadRequest, err.Error())
	}
	return done(s.SetFaults(c.ctx, f))
}

// ForeignLogin logs the account in as somebody else would, with all that
// follows for the pairs in use.
func (s *Service) ForeignLogin(ctx context.Context) error {
	return s.outside(ctx, func(c *call, tx *sql.Tx) error {
		_, err := s.newLogin(c, tx, "foreign")
		return err
	})
}

// Revoke ends every pair of the account.
func (s *Service) Revoke(ctx context.Context) error {
	return s.outside(ctx, func(c *call, tx *sql.Tx) error { return killAll(ctx, tx) })
}

func (s *Service) outside(ctx context.Context, f func(*call, *sql.Tx) error) error {
	c := &call{ctx: context.WithoutCancel(ctx), at: s.now(), now: s.now()}
	return s.write(ctx, func(tx *sql.Tx) (err error) {
		if c.st, err = loadSettings(ctx, tx); err != nil {
			return err
		}
		if err := f(c, tx); err != nil {
			return err
		}
		return logAuth(c, tx, "foreign", "", "")
	})
}

func (s *Service) adminLogin(c *call) (answer, error) {
	var in struct{}
	if err := c.bind(&in); err != nil {
		return answer{}, err
	}
	return done(s.ForeignLogin(c.ctx))
}

func (s *Service) adminRevoke(c *call) (answer, error) {
	var in struct{}
	if err := c.bind(&in); err != nil {
		return answer{}, err
	}
	return done(s.Revoke(c.ctx))
}
