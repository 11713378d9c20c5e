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

const textUnconfigured = "Application is not configured"

// getApplication: GET /v2/customer/{customerId}/application. It shows what was
// set, or the customer's own profile before that; either individual or corporate.
func (s *Service) getApplication(c *call) (answer, error) {
	row, err := s.customer(c, s.ro, c.params[0])
	if err != nil {
		return answer{}, err
	}
	if c.varied[variantHidden] {
		return answer{}, refuse(http.StatusNotFound, textUnconfigured)
	}
	out := map[string]any{"status": row.appStatus, "outstanding": row.outstanding(), "shared": row.shared != 0}
	if row.appStatus == appNone {
		out["status"] = "NEW"
	}
	body := json.RawMessage(row.application)
	if row.application == "" {
		body = row.defaultApplication()
	}
	out[row.applicationKey()] = body
	return ok(out)
}

func (c *customerRow) applicationKey() string {
	if c.kind == "CORPORATE" {
		return "corporate"
	}
	return "individual"
}

func (c *customerRow) defaultApplication() json.RawMessage {
	if c.kind == "CORPORATE" {
		return encode(patch{"application": patch{"companyName": c.company, "emailAddress": c.email, "telephoneNumber": c.phone, "taxReferenceNumber": ""},
			"documents": []any{}})
	}
	return encode(patch{"application": patch{"firstName": c.name, "middleName": "", "lastName": c.lastname, "emailAddress": c.email,
		"telephoneNumber": c.phone, "taxReferenceNumber": ""}, "documents": []any{}})
}

// applicationIn is what Set reads; further fields are kept as they came.
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
func (s *Service) setApplication(c *call) (answer, error) {
	var in map[string]json.RawMessage
	if err := c.bind(&in); err != nil {
		return answer{}, err
	}
	_, individual := in["individual"]
	_, corporate := in["corporate"]
	if individual == corporate {
		return answer{}, refuseAction(http.StatusBadRequest, "Send either individual or corporate")
	}
	err := s.write(c.ctx, func(tx *sql.Tx) error {
		row, found, err := findCustomer(c.ctx, tx, c.params[0])
		if err != nil {
			return err
		}
		if !found {
			return refuseAction(http.StatusNotFound, "Customer not found: "+c.params[0])
		}
		body, sent := in[row.applicationKey()]
		if !sent {
			return refuseAction(http.StatusBadRequest, "The application does not match the customer's type "+row.kind)
		}
		if err := checkApplication(body, row.kind); err != nil {
			return err
		}
		if row.appStatus == appSubmitted {
			return refuseAction(http.StatusConflict, "Application is already submitted")
		}
		row.application, row.appStatus = string(body), appDraft
		return s.saveCustomer(c, tx, row)
	})
	if err != nil {
		return answer{}, err
	}
	return announced(c, actionJSON{true, "Application saved successfully"}), nil
}

// announced adds the headers that tell of the coming end of Set Application.
func announced(c *call, body any) answer {
	a := jsonAnswer(http.StatusOK, body)
	a.header["Deprecation"] = []string{"true"}
	a.header["Link"] = []string{fmt.Sprintf(`</v2/compliance/%s/web_sdk_link>; rel="successor-version"`, url.PathEscape(c.params[0]))}
	return a
}

func checkApplication(body []byte, kind string) error {
	var in applicationIn
	switch err := json.Unmarshal(body, &in); {
	case err != nil:
		return refuseAction(http.StatusBadRequest, "The application has not the expected shape")
	case in.Application == nil:
		return refuseAction(http.StatusBadRequest, "application is required")
	case kind == "INDIVIDUAL" && (in.Application.FirstName == "" || in.Application.LastName == ""):
		return refuseAction(http.StatusBadRequest, "firstName and lastName are required")
	}
	for _, d := range in.Documents {
		if !slices.Contains(api.ApplicationDocumentTypes(), d.Type) {
			return refuseAction(http.StatusBadRequest, "Unknown document type: "+d.Type)
		}
	}
	return nil
}

// finalize: PATCH /v2/customer/{customerId}/application; no body.
func (s *Service) finalize(c *call) (answer, error) {
	err := s.write(c.ctx, func(tx *sql.Tx) error {
		row, found, err := findCustomer(c.ctx, tx, c.params[0])
		switch {
		case err != nil:
			return err
		case !found:
			return refuseAction(http.StatusNotFound, "Customer not found: "+c.params[0])
		case row.appStatus == appNone && !(c.varied[variantApart] && row.shared != 0):
			return refuseAction(http.StatusConflict, textUnconfigured)
		case row.appStatus == appSubmitted:
			return refuseAction(http.StatusConflict, "Application is already submitted")
		}
		row.appStatus, row.status = appSubmitted, customerModeration
		return s.saveCustomer(c, tx, row)
	})
	if err != nil {
		return answer{}, err
	}
	return ok(actionJSON{true, "Application submitted successfully"})
}
