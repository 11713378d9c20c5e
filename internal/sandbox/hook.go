package sandbox

import (
	"encoding/json"
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

// wants reports whether events of a hook type are delivered.
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
func getHook(c *call) (any, error) { return c.st.Hook, nil }

type hookIn struct{ Parameters json.RawMessage }

// setHook: POST /v2/hook/set. All parameters are required.
func setHook(c *call, in hookIn) (any, error) {
	var given map[string]any
	var hook hookParameters
	if json.Unmarshal(in.Parameters, &given) != nil || json.Unmarshal(in.Parameters, &hook) != nil {
		given = nil
	}
	for _, name := range []string{"enabled", "hookUrl", "jwtSecret", "hookCustomer", "hookOperation", "hookDepositAccount",
		"hookCounterparty"} {
		if given[name] == nil {
			return nil, refuse(http.StatusBadRequest, "parameters need enabled, hookUrl, jwtSecret, hookCustomer, "+
				"hookOperation, hookDepositAccount and hookCounterparty")
		}
	}
	if u, err := url.Parse(hook.URL); hook.Enabled && (err != nil || u.Host == "" ||
		u.Scheme != "http" && u.Scheme != "https") {
		return nil, refuse(http.StatusBadRequest, "hookUrl must be an http or https address")
	}
	return action(true, "Hook parameters saved"), c.changeSettings(c.ctx, func(st *settings) error {
		st.Hook = hook
		return nil
	})
}
