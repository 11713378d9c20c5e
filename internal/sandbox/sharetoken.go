package sandbox

import (
	"context"
	"database/sql"
	"encoding/base64"
	"net/http"
	"strings"
	"time"
)

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

// IssueShareToken makes the identity provider issue a token. Customer may be
// "" (a token for any customer of that kind).
func (s *store) IssueShareToken(ctx context.Context, kind, scenario, customer string) (ShareToken, error) {
	var t shareTokenRow
	err := s.write(ctx, func(tx *sql.Tx) (err error) {
		t, err = issueShare(ctx, tx, kind, scenario, customer, s.clock(), 0)
		return err
	})
	return t.public(), err
}

func issueShare(ctx context.Context, tx *sql.Tx, kind, scenario, customer string, now time.Time,
	ready int) (t shareTokenRow, err error) {
	if kind != "INDIVIDUAL" && kind != "CORPORATE" {
		return t, refuse(http.StatusBadRequest, "kind must be INDIVIDUAL or CORPORATE")
	}
	t.Kind, t.Scenario, t.Customer, t.until = kind, scenario, customer, now.Add(shareTTL).UnixNano()
	switch scenario {
	case ScenarioOK, ScenarioOutstanding, ScenarioRejected:
	case ScenarioExpired:
		t.until = now.Add(-time.Second).UnixNano()
	case ScenarioWrongKind:
		t.Kind = map[string]string{"INDIVIDUAL": "CORPORATE", "CORPORATE": "INDIVIDUAL"}[kind]
	default:
		return t, refuse(http.StatusBadRequest, "scenario must be ok, outstanding, rejected, expired or wrong-kind")
	}
	t.Token = "sbxshare_" + base64.RawURLEncoding.EncodeToString(randomBytes(24))
	err = execute(ctx, tx, `INSERT INTO share(token, kind, scenario, customer, until, ready) VALUES(?, ?, ?, ?, ?, ?)`,
		t.Token, t.Kind, t.Scenario, t.Customer, t.until, ready)
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
		} else if t, err = issueShare(ctx, tx, c.kind, scenario, c.cuid, now, 1); err != nil {
			return err
		}
		t.Name = c.display
		*list = append(*list, t.public())
	}
	return nil
}
