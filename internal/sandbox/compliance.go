package sandbox

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"opdeck/api"
)

// linkTTL is the lifetime of a compliance link, which opens once.
const linkTTL = 15 * time.Minute

// share: POST /v2/compliance/{customerId}/share. The token is checked before it is consumed; a rejected one changes
// nothing.
func share(c *call, in map[string]json.RawMessage) (any, error) {
	var token string
	if err := json.Unmarshal(in["token"], &token); err != nil || token == "" {
		return nil, refuse(http.StatusBadRequest, "Missing field: token")
	}
	reason, outstanding := "", []string{}
	err := c.write(c.ctx, func(tx *sql.Tx) error {
		row, err := findCustomer(c.ctx, tx, c.param("cuid"))
		switch {
		case err != nil:
			return err
		case row.Shared:
			return refuse(http.StatusConflict, "A share token was already applied to customer "+row.Cuid)
		}
		reason, outstanding, err = applyToken(c, tx, token, &row)
		return err
	})
	return patch{"applied": reason == "", "message": reason, "outstanding": outstanding}, err
}

// applyToken consumes a share token for a customer and returns what remains outstanding, or the reason of a rejection.
// The identity provider's tokens are those that people can type: "demo-KIND-SCENARIO-ANYTHING" with KIND individual or
// corporate. Each works once, so vary ANYTHING.
func applyToken(c *call, tx *sql.Tx, token string, row *customer) (reason string, outstanding []string, err error) {
	outstanding = []string{}
	part := append(strings.SplitN(token, "-", 4), "", "", "")
	kind, scenario := strings.ToUpper(part[1]), part[2]
	used, err := count(c.ctx, tx, `SELECT count(*) FROM share WHERE token = ?`, token)
	switch {
	case err != nil:
		return "", outstanding, err
	case used > 0:
		reason = "The share token was already used"
	case part[0] != "demo" || kind != "INDIVIDUAL" && kind != "CORPORATE":
		reason = "The share token is unknown"
	case scenario == "expired":
		reason = "The share token has expired"
	case kind != row.Type:
		reason = "The share token is for a customer of type " + kind + ", this customer is of type " + row.Type
	case scenario == "rejected":
		reason = "The shared profile is not verified"
	case scenario == "outstanding" && kind == "CORPORATE":
		outstanding = []string{"PROOF_OF_RESIDENCE", "UBO_POA"}
	case scenario == "outstanding":
		outstanding = []string{"PROOF_OF_RESIDENCE"}
	case scenario != "ok":
		reason = "The share token is unknown"
	}
	if reason != "" {
		return reason, outstanding, nil
	}
	if err := execute(c.ctx, tx, `INSERT INTO share(token) VALUES(?)`, token); err != nil {
		return "", outstanding, err
	}
	row.Shared, row.Outstanding, row.Status = true, outstanding, "VERIFY"
	if row.AppStatus == appNone {
		row.AppStatus, row.Application = appDraft, row.sharedApplication()
	}
	return "", outstanding, saveCustomer(c, tx, *row)
}

// sharedApplication is the profile transferred by a token: the customer's own, for a company with its beneficiaries.
func (c *customer) sharedApplication() json.RawMessage {
	if c.Type != "CORPORATE" {
		return encode(c.defaultApplication())
	}
	app := c.defaultApplication()
	app["beneficiaries"] = []any{
		patch{"firstName": "Sam", "lastName": "Sample", "share": "60", "verified": true},
		patch{"firstName": "Kim", "lastName": "Example", "share": "40", "verified": true}}
	return encode(app)
}

// webLink: GET /v2/compliance/{customerId}/web_sdk_link.
func webLink(c *call) (any, error) {
	id := uuid.NewString()
	err := c.write(c.ctx, func(tx *sql.Tx) error {
		row, err := findCustomer(c.ctx, tx, c.param("cuid"))
		if err != nil {
			return err
		}
		return execute(c.ctx, tx, `INSERT INTO verifylink(id, customer, until) VALUES(?, ?, ?)`, id, row.Cuid,
			c.at.Add(linkTTL).UnixNano())
	})
	return patch{"ttlInSeconds": int(linkTTL / time.Second), "url": "http://" + c.r.Host + verifyPath + id}, err
}

// verifyPath is the path of the pages behind compliance links.
const verifyPath = "/sandbox/verify/"

const verifyPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Verification (sandbox)</title>
<dialog open><h1>Verification</h1><p>Received: SETS.</dialog>`

// verify is the page of a compliance link: opening it, once, hands in what is outstanding.
func verify(c *call) (any, error) {
	var sets string
	err := c.write(c.ctx, func(tx *sql.Tx) error {
		var row customer
		err := tx.QueryRowContext(c.ctx, `DELETE FROM verifylink WHERE id = ? AND until > ? RETURNING
			(SELECT doc FROM record WHERE kind = 'customer' AND id = customer)`, c.param("id"),
			c.at.UnixNano()).Scan(scanJSON{&row})
		if errors.Is(err, sql.ErrNoRows) {
			return refuse(http.StatusGone, "The link was used or has expired")
		}
		if err != nil {
			return err
		}
		sets = strings.Join(row.Outstanding, ", ")
		row.Outstanding = []string{}
		if row.AppStatus == appNone {
			row.AppStatus, row.Application = appDraft, encode(row.defaultApplication())
		}
		return saveCustomer(c, tx, row)
	})
	page := strings.Replace(verifyPage, "SETS", cmp.Or(sets, "nothing was outstanding"), 1)
	return answer{status: http.StatusOK, header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		body: []byte(page)}, err
}

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
	row, err := findCustomer(c.ctx, c.db, c.param("cuid"))
	if err != nil {
		return nil, err
	}
	body := any(row.Application)
	if row.AppStatus == appNone {
		body = row.defaultApplication()
	}
	return patch{"status": cmp.Or(row.AppStatus, "NEW"), "outstanding": row.Outstanding, "shared": row.Shared,
		row.applicationKey(): body}, nil
}

func (c *customer) applicationKey() string {
	if c.Type == "CORPORATE" {
		return "corporate"
	}
	return "individual"
}

func (c *customer) defaultApplication() patch {
	form := patch{"emailAddress": c.Email, "telephoneNumber": c.Phone, "taxReferenceNumber": ""}
	if c.Type == "CORPORATE" {
		form["companyName"] = c.Company
	} else {
		form["firstName"], form["middleName"], form["lastName"] = c.Name, "", c.Lastname
	}
	return patch{"application": form, "documents": []any{}}
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
		row, err := findCustomer(c.ctx, tx, c.param("cuid"))
		if err != nil {
			return err
		}
		body, sent := in[row.applicationKey()]
		if !sent {
			return refuse(http.StatusBadRequest, "The application does not match the customer's type "+row.Type)
		}
		if err := checkApplication(body, row.Type); err != nil {
			return err
		}
		if row.AppStatus == appSubmitted {
			return refuse(http.StatusConflict, textSubmitted)
		}
		row.Application, row.AppStatus = body, appDraft
		return saveCustomer(c, tx, row)
	})
	// These headers announce the end of this call.
	a := jsonAnswer(http.StatusOK, action(true, "Application saved successfully"))
	a.header["Deprecation"] = []string{"true"}
	a.header["Link"] = []string{fmt.Sprintf(`</v2/compliance/%s/web_sdk_link>; rel="successor-version"`,
		url.PathEscape(c.param("cuid")))}
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
		row, err := findCustomer(c.ctx, tx, c.param("cuid"))
		switch {
		case err != nil:
			return err
		case row.AppStatus == appNone:
			return refuse(http.StatusConflict, textUnconfigured)
		case row.AppStatus == appSubmitted:
			return refuse(http.StatusConflict, textSubmitted)
		}
		row.AppStatus, row.Status = appSubmitted, "MODERATION"
		return saveCustomer(c, tx, row)
	})
}
