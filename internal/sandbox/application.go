package sandbox

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"opdeck/api"
)

// States of a customer's application.
const (
	appNone      = ""
	appDraft     = "DRAFT"
	appSubmitted = "SUBMITTED"
)

const (
	textUnconfigured = "Application is not configured"
	textSubmitted    = "Application is already submitted"
)

// getApplication: GET /v2/customer/{customerId}/application. It returns what was set, before that the customer's own
// profile; either individual or corporate.
func getApplication(c *call) (any, error) {
	row, err := findCustomer(c.ctx, c.ro, c.params[0])
	if err != nil {
		return nil, err
	}
	status, body := row.appStatus, json.RawMessage(row.application)
	if status == appNone {
		status = "NEW"
	}
	if row.application == "" {
		body = row.defaultApplication()
	}
	return patch{"status": status, "outstanding": row.outstanding(), "shared": row.shared != 0,
		row.applicationKey(): body}, nil
}

func (c *customerRow) applicationKey() string {
	if c.kind == "CORPORATE" {
		return "corporate"
	}
	return "individual"
}

func (c *customerRow) defaultApplication() json.RawMessage {
	if c.kind == "CORPORATE" {
		return encode(patch{"application": patch{"companyName": c.company, "emailAddress": c.email,
			"telephoneNumber": c.phone, "taxReferenceNumber": ""},
			"documents": []any{}})
	}
	return encode(patch{"application": patch{"firstName": c.name, "middleName": "", "lastName": c.lastname,
		"emailAddress":    c.email,
		"telephoneNumber": c.phone, "taxReferenceNumber": ""}, "documents": []any{}})
}

// applicationIn is the part that Set reads; further fields are kept unchanged.
type applicationIn struct {
	Application *struct {
		FirstName   string `json:"firstName"`
		LastName    string `json:"lastName"`
		CompanyName string `json:"companyName"`
	} `json:"application"`
	Documents []struct {
		Type string `json:"type"`
	} `json:"documents"`
}

// setApplication: POST /v2/customer/{customerId}/application, deprecated.
func setApplication(c *call, in map[string]json.RawMessage) (any, error) {
	_, individual := in["individual"]
	_, corporate := in["corporate"]
	if individual == corporate {
		return nil, refuse(http.StatusBadRequest, "Send either individual or corporate")
	}
	err := c.write(c.ctx, func(tx *sql.Tx) error {
		row, err := findCustomer(c.ctx, tx, c.params[0])
		if err != nil {
			return err
		}
		body, sent := in[row.applicationKey()]
		if !sent {
			return refuse(http.StatusBadRequest, "The application does not match the customer's type "+row.kind)
		}
		if err := checkApplication(body, row.kind); err != nil {
			return err
		}
		if row.appStatus == appSubmitted {
			return refuse(http.StatusConflict, textSubmitted)
		}
		row.application, row.appStatus = string(body), appDraft
		return saveCustomer(c, tx, row)
	})
	// These headers announce the end of this call.
	a := jsonAnswer(http.StatusOK, action(true, "Application saved successfully"))
	a.header["Deprecation"] = []string{"true"}
	a.header["Link"] = []string{fmt.Sprintf(`</v2/compliance/%s/web_sdk_link>; rel="successor-version"`,
		url.PathEscape(c.params[0]))}
	return a, err
}

func checkApplication(body []byte, kind string) error {
	var in applicationIn
	switch err := json.Unmarshal(body, &in); {
	case err != nil:
		return refuse(http.StatusBadRequest, "The application does not have the expected shape")
	case in.Application == nil:
		return refuse(http.StatusBadRequest, "application is required")
	case kind == "INDIVIDUAL" && (in.Application.FirstName == "" || in.Application.LastName == ""):
		return refuse(http.StatusBadRequest, "firstName and lastName are required")
	}
	for _, d := range in.Documents {
		if !slices.Contains(api.ApplicationDocumentTypes(), d.Type) {
			return refuse(http.StatusBadRequest, "Unknown document type: "+d.Type)
		}
	}
	return nil
}

// finalize: PATCH /v2/customer/{customerId}/application; no body.
func finalize(c *call) (any, error) {
	return action(true, "Application submitted successfully"), c.write(c.ctx, func(tx *sql.Tx) error {
		row, err := findCustomer(c.ctx, tx, c.params[0])
		switch {
		case err != nil:
			return err
		case row.appStatus == appNone && !(c.variants.Load().ShareApart && row.shared != 0):
			return refuse(http.StatusConflict, textUnconfigured)
		case row.appStatus == appSubmitted:
			return refuse(http.StatusConflict, textSubmitted)
		}
		row.appStatus, row.status = appSubmitted, customerModeration
		return saveCustomer(c, tx, row)
	})
}
