package app

import (
	"net/http"
	"strings"
	"testing"

	"opdeck/internal/sandbox"
)

// TestTwoFactorOfTheAccount: on is a failure, off is fine, and anything unclear is "not reported".
func TestTwoFactorOfTheAccount(t *testing.T) {
	me := `"uuid":"u-1","username":"` + strings.ToUpper(sandbox.DefaultLogin) + `"`
	for name, c := range map[string]struct {
		status int
		body   string
		want   Health
		text   string
	}{
		"off":        {200, `{"items":[{"uuid":"u-2","username":"other","is2fa":true},{` + me + `,"is2fa":false}],"meta":{"total":"2"}}`, Healthy, "off (required)"},
		"on":         {200, `{"items":[{` + me + `,"is2fa":true}]}`, Failed, "is switched on"},
		"on in text": {200, `{"items":[{` + me + `,"is2fa":"true"}]}`, Skipped, "no is2fa"},
		"absent":     {200, `{"items":[{` + me + `}]}`, Skipped, "no is2fa"},
		"null":       {200, `{"items":[{` + me + `,"is2fa":null}]}`, Skipped, "no is2fa"},
		"odd":        {200, `{"items":[{` + me + `,"is2fa":{"totp":true}}]}`, Skipped, "no is2fa"},
		"a word":     {200, `{"items":[{` + me + `,"is2fa":"perhaps"}]}`, Skipped, "no is2fa"},
		"not there":  {200, `{"items":[{"uuid":"u-2","username":"other","is2fa":true}]}`, Skipped, "does not show the machine account"},
		"nobody":     {200, `{"items":[],"meta":{"total":"0"}}`, Skipped, "does not show the machine account"},
		"refused":    {403, `{"error":"secret words of the service"}`, Skipped, "not known"},
		"no route":   {404, `page not found`, Skipped, "not known"},
		"no list":    {200, `{"hello":"world"}`, Skipped, "not known"},
	} {
		t.Run(name, func(t *testing.T) {
			found, _, _ := examine(t, func(w http.ResponseWriter, r *http.Request) bool {
				return r.URL.Path == "/v2/user" && say(w, c.status, c.body)
			})
			f := found["two-factor"]
			if f.Health != c.want || !strings.Contains(f.Text, c.text) || strings.Contains(f.Text, "secret words") || c.want == Failed && f.Hint == "" {
				t.Errorf("%+v", f)
			}
		})
	}
	found, _, _ := examine(t, nil)
	if f := found["two-factor"]; f.Health != Healthy {
		t.Errorf("the built-in service: %+v", f)
	}
}
