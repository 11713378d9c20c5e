package sandbox

import (
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
)

// linkTTL is the lifetime of a compliance link, which opens once.
const linkTTL = 15 * time.Minute

const textBaaS = "Sharing is not available for partners on the BaaS verification program"

// share: POST /v2/compliance/{customerId}/share. The token is checked before it is consumed; a rejected one changes
// nothing.
func share(c *call, in map[string]json.RawMessage) (any, error) {
	var token string
	if err := json.Unmarshal(in[c.st.ShareTokenField], &token); err != nil || token == "" {
		return nil, refuse(http.StatusBadRequest, "Missing field: "+c.st.ShareTokenField)
	}
	reason, outstanding := "", []string{}
	err := c.write(c.ctx, func(tx *sql.Tx) error {
		row, err := findCustomer(c.ctx, tx, c.params[0])
		switch {
		case err != nil:
			return err
		case c.st.BaaS:
			return refuse(http.StatusForbidden, textBaaS)
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
	if c.variants.Load().ShareApart {
		return outstanding, saveCustomer(c, tx, row)
	}
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
