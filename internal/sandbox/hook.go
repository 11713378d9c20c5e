package sandbox

import (
	"database/sql"
	"net/http"
	"net/url"
)

// hookParameters are the webhook settings, as the service writes them.
type hookParameters struct {
	Enabled      bool   `json:"enabled"`
	URL          string `json:"hookUrl"`
	JWTSecret    string `json:"jwtSecret"`
	Customer     bool   `json:"hookCustomer"`
	Operation    bool   `json:"hookOperation"`
	Account      bool   `json:"hookDepositAccount"`
	Counterparty bool   `json:"hookCounterparty"`
}

// wants tells whether events of a hook type are delivered.
func (h hookParameters) wants(hookType int) bool {
	if !h.Enabled || h.URL == "" {
		return false
	}
	switch hookType {
	case hookOperation:
		return h.Operation
	case hookAccount, hookRequisite:
		return h.Account
	case hookClient:
		return h.Customer
	case hookCounterparty:
		return h.Counterparty
	}
	return false
}

// getHook: GET /v2/hook/get; flat.
func (s *Service) getHook(c *call) (answer, error) { return ok(c.st.Hook) }

// setHook: POST /v2/hook/set.
func (s *Service) setHook(c *call) (answer, error) {
	var in struct {
		Parameters *struct {
			Enabled      *bool   `json:"enabled"`
			URL          *string `json:"hookUrl"`
			JWTSecret    *string `json:"jwtSecret"`
			Customer     *bool   `json:"hookCustomer"`
			Operation    *bool   `json:"hookOperation"`
			Account      *bool   `json:"hookDepositAccount"`
			Counterparty *bool   `json:"hookCounterparty"`
		} `json:"parameters"`
	}
	if err := c.bind(&in); err != nil {
		return answer{}, err
	}
	p := in.Parameters
	if p == nil || p.Enabled == nil || p.URL == nil || p.JWTSecret == nil || p.Customer == nil || p.Operation == nil || p.Account == nil || p.Counterparty == nil {
		return answer{}, refuse(http.StatusBadRequest, "parameters need enabled, hookUrl, jwtSecret, hookCustomer, hookOperation, hookDepositAccount and hookCounterparty")
	}
	if u, err := url.Parse(*p.URL); *p.Enabled && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return answer{}, refuse(http.StatusBadRequest, "hookUrl must be an http or https address")
	}
	hook := hookParameters{*p.Enabled, *p.URL, *p.JWTSecret, *p.Customer, *p.Operation, *p.Account, *p.Counterparty}
	err := s.write(c.ctx, func(tx *sql.Tx) error {
		st, err := loadSettings(c.ctx, tx)
		if err != nil {
			return err
		}
		st.Hook = hook
		return storeSettings(c.ctx, tx, st)
	})
	if err != nil {
		return answer{}, err
	}
	s.poke()
	return ok(actionJSON{true, "Hook parameters saved"})
}
