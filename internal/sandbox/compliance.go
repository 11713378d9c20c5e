package sandbox

import (
	"context"
	"database/sql"
	"encoding/base64"
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
		row, err := findCustomer(c.ctx, tx, c.params[0])
		switch {
		case err != nil:
			return err
		case row.shared != 0:
			return refuse(http.StatusConflict, "A share token was already applied to customer "+row.cuid)
		}
		var t shareTokenRow
		if t, reason, err = checkShareToken(c, tx, token, row); err != nil || reason != "" {
			return err
		}
		outstanding, err = applyShare(c, tx, row, t)
		return err
	})
	return object{"applied", reason == "", "message", reason, "outstanding", outstanding}, err
}

// checkShareToken returns the reason of a rejection, or "" and the token.
func checkShareToken(c *call, tx *sql.Tx, token string, row customerRow) (t shareTokenRow, reason string, err error) {
	err = tx.QueryRowContext(c.ctx, shareSelect+`token = ?`, token).Scan(t.columns()...)
	if errors.Is(err, sql.ErrNoRows) {
		demo, found := demoToken(token, c.at)
		if !found {
			return t, "The share token is unknown", nil
		}
		t, err = demo, nil
	}
	switch {
	case err != nil:
		return t, "", err
	case t.used != 0:
		return t, "The share token was already used", nil
	case t.until <= c.at.UnixNano():
		return t, "The share token has expired", nil
	case t.Kind != row.kind:
		return t, "The share token is for a customer of type " + t.Kind + ", this customer is of type " + row.kind, nil
	case t.Customer != "" && t.Customer != row.cuid:
		return t, "The share token was issued for another customer", nil
	case t.Scenario == ScenarioRejected:
		return t, "The shared profile is not verified", nil
	}
	return t, "", nil
}

// applyShare consumes the token and returns what remains outstanding.
func applyShare(c *call, tx *sql.Tx, row customerRow, t shareTokenRow) ([]string, error) {
	err := execute(c.ctx, tx, `INSERT INTO share(token, kind, scenario, customer, until, used) VALUES(?, ?, ?, ?, ?, ?)
		ON CONFLICT(token) DO UPDATE SET used = excluded.used`,
		t.Token, t.Kind, t.Scenario, t.Customer, t.until, c.at.UnixNano())
	if err != nil {
		return nil, err
	}
	outstanding := []string{}
	if t.Scenario == ScenarioOutstanding {
		outstanding = []string{"PROOF_OF_RESIDENCE"}
		if row.kind == "CORPORATE" {
			outstanding = append(outstanding, "UBO_POA")
		}
	}
	row.shared = c.at.UnixNano()
	row.setOutstanding(outstanding)
	if row.appStatus == appNone {
		row.appStatus, row.application = appDraft, string(row.sharedApplication())
	}
	row.status = customerVerify
	return outstanding, saveCustomer(c, tx, row)
}

// sharedApplication is the profile transferred by a token: the customer's own, for a company with its beneficiaries.
func (c *customerRow) sharedApplication() json.RawMessage {
	if c.kind != "CORPORATE" {
		return c.defaultApplication()
	}
	return mergePatch(c.defaultApplication(), encode(patch{"beneficiaries": []any{
		patch{"firstName": "Sam", "lastName": "Sample", "share": "60", "verified": true},
		patch{"firstName": "Kim", "lastName": "Example", "share": "40", "verified": true}}}))
}

// webLink: GET /v2/compliance/{customerId}/web_sdk_link.
func webLink(c *call) (any, error) {
	id := uuid.NewString()
	err := c.write(c.ctx, func(tx *sql.Tx) error {
		row, err := findCustomer(c.ctx, tx, c.params[0])
		if err != nil {
			return err
		}
		return execute(c.ctx, tx, `INSERT INTO verifylink(id, customer, until) VALUES(?, ?, ?)`, id, row.n,
			c.at.Add(linkTTL).UnixNano())
	})
	return object{"ttlInSeconds", int(linkTTL / time.Second), "url", webLinkURL(c, id)}, err
}

// webLinkURL is the target of a compliance link: a page of this service.
func webLinkURL(c *call, id string) string {
	u := url.URL{Scheme: "http", Host: c.r.Host, Path: verifyPath + id}
	if c.r.URL.Scheme != "" { // in-process
		u.Scheme = c.r.URL.Scheme
	}
	return u.String()
}

// verifyPath is the path of the pages behind compliance links.
const verifyPath = "/sandbox/verify/"

const verifyPage = `<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Verification (sandbox)</title>
<body><dialog open><h1>Verification</h1><p>SETS</p>
<form method="post"><button>Upload everything</button></form></dialog>`

// openVerify is the page of a compliance link. It opens once.
func openVerify(c *call) (any, error) {
	var sets string
	err := c.write(c.ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(c.ctx, `UPDATE verifylink SET opened = ? WHERE id = ? AND opened = 0 AND until > ?`,
			c.at.UnixNano(), c.params[0], c.at.UnixNano())
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, refuse(http.StatusGone, "The link was used or has expired"))
		}
		row, err := verifyCustomer(c, tx)
		sets = strings.Join(row.outstanding(), ", ")
		return err
	})
	if sets == "" {
		sets = "Nothing is outstanding."
	}
	return answer{status: http.StatusOK, header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		body: []byte(strings.Replace(verifyPage, "SETS", sets, 1))}, err
}

// submitVerify submits what was outstanding.
func submitVerify(c *call) (any, error) {
	return action(true, "Documents received"), c.write(c.ctx, func(tx *sql.Tx) error {
		row, err := verifyCustomer(c, tx)
		if err != nil {
			return err
		}
		row.setOutstanding(nil)
		if row.appStatus == appNone {
			row.appStatus, row.application = appDraft, string(row.defaultApplication())
		}
		return saveCustomer(c, tx, row)
	})
}

func verifyCustomer(c *call, tx *sql.Tx) (customerRow, error) {
	rows, err := queryCustomers(c.ctx, tx, ` WHERE n = (SELECT customer FROM verifylink WHERE id = ? AND opened > 0)`,
		c.params[0])
	if err == nil && len(rows) == 0 {
		err = refuse(http.StatusNotFound, "The link is unknown or was not opened")
	}
	if err != nil {
		return customerRow{}, err
	}
	return rows[0], nil
}

// shareTTL is how long a share token lives (spec, Limits rule 4).
const shareTTL = 20 * time.Minute

// Scenarios of share tokens.
const (
	ScenarioOK          = "ok"          // applied, nothing outstanding
	ScenarioOutstanding = "outstanding" // applied, document sets outstanding
	ScenarioRejected    = "rejected"    // the profile is not verified
	ScenarioExpired     = "expired"     // 20 minutes are over
	ScenarioWrongKind   = "wrong-kind"  // of the other kind of customer
)

// ShareToken is a token that the sandbox's identity provider has issued.
type ShareToken struct {
	Token    string    `json:"token"`
	Kind     string    `json:"kind"` // INDIVIDUAL or CORPORATE
	Scenario string    `json:"scenario"`
	Customer string    `json:"customer"` // cuid it was issued for; "": any
	Name     string    `json:"name,omitempty"`
	Until    time.Time `json:"until"`
	Used     bool      `json:"used"`
}

type shareTokenRow struct {
	ShareToken
	until, used int64
}

const shareSelect = `SELECT token, kind, scenario, customer, until, used FROM share WHERE `

func (t *shareTokenRow) columns() []any {
	return []any{&t.Token, &t.Kind, &t.Scenario, &t.Customer, &t.until, &t.used}
}

func (t shareTokenRow) public() ShareToken {
	t.Until, t.Used = time.Unix(0, t.until).UTC(), t.used != 0
	return t.ShareToken
}

// demoToken accepts tokens that people can type: "demo-KIND-SCENARIO-ANYTHING"
// with KIND individual or corporate. It counts as issued when first shown; each
// works once, so vary ANYTHING.
func demoToken(token string, now time.Time) (t shareTokenRow, found bool) {
	rest, found := strings.CutPrefix(token, "demo-")
	kind, rest, dash := strings.Cut(rest, "-")
	scenario, _, _ := strings.Cut(rest, "-")
	kind = strings.ToUpper(kind)
	if !found || !dash || kind != "INDIVIDUAL" && kind != "CORPORATE" {
		return t, false
	}
	t.Token, t.Kind, t.Scenario, t.until = token, kind, scenario, now.Add(shareTTL).UnixNano()
	switch scenario {
	case ScenarioOK, ScenarioOutstanding, ScenarioRejected:
	case ScenarioExpired:
		t.until = now.UnixNano()
	default:
		return t, false
	}
	return t, true
}

// issueShare makes the identity provider issue a token that is ready to be tried.
func issueShare(ctx context.Context, tx *sql.Tx, kind, scenario, customer string,
	now time.Time) (t shareTokenRow, err error) {
	t.Kind, t.Scenario, t.Customer, t.until = kind, scenario, customer, now.Add(shareTTL).UnixNano()
	if scenario == ScenarioWrongKind {
		t.Kind = map[string]string{"INDIVIDUAL": "CORPORATE", "CORPORATE": "INDIVIDUAL"}[kind]
	}
	t.Token = "sbxshare_" + base64.RawURLEncoding.EncodeToString(randomBytes(24))
	err = execute(ctx, tx, `INSERT INTO share(token, kind, scenario, customer, until, ready) VALUES(?, ?, ?, ?, ?, 1)`,
		t.Token, t.Kind, t.Scenario, t.Customer, t.until)
	return t, err
}

// ShareTokens are tokens ready to be tried: for each customer that was not
// shared yet one that applies, one that leaves document sets outstanding and
// one of the wrong kind. Each has at least ten minutes left.
func (s *store) ShareTokens(ctx context.Context) ([]ShareToken, error) {
	var list []ShareToken
	err := s.write(ctx, func(tx *sql.Tx) error {
		now := s.clock()
		if err := execute(ctx, tx, `DELETE FROM share WHERE ready = 1 AND used = 0 AND until < ?`,
			now.Add(shareTTL/2).UnixNano()); err != nil {
			return err
		}
		customers, err := queryCustomers(ctx, tx, ` WHERE shared = 0 ORDER BY n`)
		if err != nil {
			return err
		}
		for _, c := range customers {
			if err := readyTokens(ctx, tx, c, now, &list); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

func readyTokens(ctx context.Context, tx *sql.Tx, c customerRow, now time.Time, list *[]ShareToken) error {
	for _, scenario := range []string{ScenarioOK, ScenarioOutstanding, ScenarioWrongKind} {
		var t shareTokenRow
		ready, err := query(ctx, tx, (*shareTokenRow).columns,
			shareSelect+`ready = 1 AND used = 0 AND customer = ? AND scenario = ? LIMIT 1`, c.cuid, scenario)
		if err != nil {
			return err
		}
		if len(ready) > 0 {
			t = ready[0]
		} else if t, err = issueShare(ctx, tx, c.kind, scenario, c.cuid, now); err != nil {
			return err
		}
		t.Name = c.display
		*list = append(*list, t.public())
	}
	return nil
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
		case row.appStatus == appNone:
			return refuse(http.StatusConflict, textUnconfigured)
		case row.appStatus == appSubmitted:
			return refuse(http.StatusConflict, textSubmitted)
		}
		row.appStatus, row.status = appSubmitted, customerModeration
		return saveCustomer(c, tx, row)
	})
}
