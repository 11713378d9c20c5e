package sandbox_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"opdeck/internal/sandbox"
)

func (c *client) share(cuid, token string) reply {
	c.t.Helper()
	return c.do("POST", "/v2/compliance/"+cuid+"/share", map[string]string{"token": token})
}

func TestRejectedShares(t *testing.T) {
	c := connect(t, open(t, sandbox.Options{})).login()
	ana, cedar := c.cuid("Ana"), c.cuid("Cedar")
	const used = "demo-individual-ok-used"
	if c.share(c.cuid("Priya"), used).json(t)["applied"] != true {
		t.Fatal("the token did not apply")
	}
	tests := []struct{ name, cuid, token, text string }{
		{"unknown", ana, "who-knows", "unknown"},
		{"used", ana, used, "already used"},
		{"company token for a person", ana, "demo-corporate-ok-1", "of type CORPORATE"},
		{"person token for a company", cedar, "demo-individual-ok-1", "of type INDIVIDUAL"},
		{"not verified", ana, "demo-individual-rejected-1", "not verified"},
		{"expired", ana, "demo-individual-expired-1", "expired"},
		{"unknown scenario", ana, "demo-individual-fancy-1", "unknown"},
		{"unknown kind", ana, "demo-person-ok-1", "unknown"},
	}
	before := string(c.do("GET", "/v2/customer/"+ana+"/application", nil).body)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := c.share(tt.cuid, tt.token).json(t)
			if v["applied"] != false || !strings.Contains(v["message"].(string), tt.text) {
				t.Errorf("%v", v)
			}
		})
	}
	if after := string(c.do("GET", "/v2/customer/"+ana+"/application", nil).body); after != before {
		t.Errorf("a rejected token changed something:\n%s\n%s", before, after)
	}
	// Validated before it is consumed: a token refused for one customer still works for the right one.
	const token = "demo-corporate-ok-2"
	if c.share(ana, token).json(t)["applied"] != false || c.share(cedar, token).json(t)["applied"] != true {
		t.Error("a rejected token was consumed")
	}
}

func TestShareRefusals(t *testing.T) {
	s := open(t, sandbox.Options{})
	c := connect(t, s).login()
	ana := c.cuid("Ana")
	if r := c.share("Dnobody", "demo-individual-ok-1"); r.status != 404 {
		t.Errorf("unknown customer: %d", r.status)
	}
	if r := c.do("POST", "/v2/compliance/"+ana+"/share", map[string]string{"shareToken": "x"}); r.status != 400 {
		t.Errorf("other field: %d", r.status)
	}
}

func TestJourney(t *testing.T) {
	for _, tt := range []struct{ name, kind, key, scenario string }{
		{"Ana", "INDIVIDUAL", "individual", "outstanding"}, {"Cedar", "CORPORATE", "corporate", "outstanding"},
		{"Priya", "INDIVIDUAL", "individual", "ok"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, sandbox.Options{})
			c := connect(t, s).login()
			cuid := c.cuid(tt.name)
			if r := c.do("PATCH", "/v2/customer/"+cuid+"/application", nil); r.status != 409 || r.json(t)["success"] != false {
				t.Errorf("finalize before anything: %d %s", r.status, r.body)
			}
			v := c.share(cuid, "demo-"+tt.key+"-"+tt.scenario+"-1").json(t)
			outstanding := v["outstanding"].([]any)
			if v["applied"] != true || slices.Contains(outstanding,
				any("PROOF_OF_RESIDENCE")) != (tt.scenario == "outstanding") {
				t.Errorf("share: %v", v)
			}
			if r := c.share(cuid, "demo-"+tt.key+"-ok-2"); r.status != 409 {
				t.Errorf("second share: %d %s", r.status, r.body)
			}
			app := c.want(200, "GET", "/v2/customer/"+cuid+"/application", nil)
			if app["shared"] != true || app[tt.key] == nil || len(app["outstanding"].([]any)) != len(outstanding) {
				t.Errorf("application: %v", app)
			}
			if _, beneficiaries := app[tt.key].(map[string]any)["beneficiaries"]; beneficiaries != (tt.kind == "CORPORATE") {
				t.Errorf("beneficiaries: %v", app[tt.key])
			}
			c.handIn(cuid)
			if app := c.want(200, "GET", "/v2/customer/"+cuid+"/application", nil); len(app["outstanding"].([]any)) != 0 {
				t.Errorf("outstanding after the link: %v", app)
			}
			if v := c.want(200, "PATCH", "/v2/customer/"+cuid+"/application", nil); v["success"] != true ||
				v["message"] != "Application submitted successfully" {
				t.Errorf("finalize: %v", v)
			}
			if r := c.do("PATCH", "/v2/customer/"+cuid+"/application", nil); r.status != 409 {
				t.Errorf("finalize again: %d", r.status)
			}
			if st := c.want(200, "GET", "/v2/customer/"+cuid, nil)["item"].(map[string]any)["status"]; st != "MODERATION" {
				t.Errorf("status %v", st)
			}
		})
	}
}

// handIn opens the compliance link, which hands in what is asked there.
func (c *client) handIn(cuid string) {
	c.t.Helper()
	v := c.want(200, "GET", "/v2/compliance/"+cuid+"/web_sdk_link", nil)
	address, _ := strings.CutPrefix(v["url"].(string), c.base)
	if v["ttlInSeconds"] != float64(900) || address == v["url"] {
		c.t.Errorf("link %v", v)
	}
	if r := c.do("GET", address, nil); r.status != 200 || !strings.Contains(string(r.body), "<dialog open>") {
		c.t.Errorf("page: %d %s", r.status, r.body)
	}
	if r := c.do("GET", address, nil); r.status != http.StatusGone {
		c.t.Errorf("second opening: %d", r.status)
	}
}

func TestSetApplication(t *testing.T) {
	c := connect(t, open(t, sandbox.Options{})).login()
	ana := "/v2/customer/" + c.cuid("Ana") + "/application"
	person := map[string]any{"firstName": "Ana", "lastName": "K"}
	tests := []struct {
		name   string
		path   string
		body   any
		status int
		text   string
	}{
		{"both", ana, map[string]any{"individual": map[string]any{"application": person},
			"corporate": map[string]any{"application": person}}, 400, "either"},
		{"neither", ana, map[string]any{}, 400, "either"},
		{"wrong kind", ana, map[string]any{"corporate": map[string]any{"application": person}}, 400, "does not match"},
		{"no application", ana, map[string]any{"individual": map[string]any{}}, 400, "application is required"},
		{"no name", ana, map[string]any{"individual": map[string]any{"application": map[string]any{"firstName": "A"}}}, 400,
			"lastName"},
		{"unknown document type", ana, map[string]any{"individual": map[string]any{"application": person,
			"documents": []any{map[string]any{"type": "SELFIE"}}}}, 400, "Unknown document type: SELFIE"},
		{"unknown customer", "/v2/customer/Dx/application", map[string]any{
			"individual": map[string]any{"application": person}}, 404, "Customer not found: Dx"},
		{"fine", ana, map[string]any{"individual": map[string]any{"application": person,
			"documents": []any{map[string]any{"type": "UBO_LIVENESS"}}, "more": 1}}, 200, "saved"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := c.do("POST", tt.path, tt.body)
			v := r.json(t)
			if r.status != tt.status || v["success"] != (tt.status == 200) || !strings.Contains(v["message"].(string), tt.text) {
				t.Errorf("%d %s", r.status, r.body)
			}
			if reported := r.header.Get("Deprecation") == "true" &&
				strings.Contains(r.header.Get("Link"), "web_sdk_link"); reported != (r.status == 200) {
				t.Errorf("headers %v", r.header)
			}
		})
	}
	r := c.do("GET", ana, nil)
	if r.header.Get("Deprecation") != "" { // the specification deprecates Set, not Get
		t.Errorf("headers %v", r.header)
	}
	if v := r.json(t); v["status"] != "DRAFT" || v["individual"].(map[string]any)["more"] != float64(1) ||
		v["corporate"] != nil {
		t.Errorf("application %v", v)
	}
	c.want(200, "PATCH", ana, nil)
	if r := c.do("POST", ana, tests[len(tests)-1].body); r.status != 409 {
		t.Errorf("set after it was handed in: %d", r.status)
	}
}

func TestCustomersAndAccounts(t *testing.T) {
	c := connect(t, open(t, sandbox.Options{})).login()
	total := func(path string) string {
		return c.want(200, "GET", path, nil)["meta"].(map[string]any)["total"].(string)
	}
	cedar := c.cuid("Cedar")
	for path, want := range map[string]string{
		"/v2/customer": "20", "/v2/customer?type=CORPORATE": "10", "/v2/customer?customerId=" + cedar: "1",
		"/v2/customer?customerName=nobody":               "0",
		"/v2/customer?fromCreateAt=2100-01-01T00:00:00Z": "0", "/v2/customer?status=BANNED": "1",
		"/v2/account?customerId=" + cedar: "4", "/v2/account?currencyIso=KWD": "3",
		"/v2/account?associateType=POOL&balance=NOTSET": "4",
		"/v2/counterparty?customerId=" + cedar:          "3",
	} {
		if have := total(path); have != want {
			t.Errorf("%s: %s, want %s", path, have, want)
		}
	}
	sum := 0
	for _, b := range []string{"POSITIVE", "NEGATIVE", "ZERO"} {
		items := c.want(200, "GET", "/v2/account?meta.pageSize=100&balance="+b, nil)["items"].([]any)
		if sum += len(items); len(items) == 0 {
			t.Errorf("no account with a %s balance", b)
		}
	}
	if all := len(c.want(200, "GET", "/v2/account?meta.pageSize=100", nil)["items"].([]any)); all != sum {
		t.Errorf("%d accounts by balance, %d in all", sum, all)
	}
	for _, list := range []struct{ path, id, text string }{
		{"/v2/account", "id", "Account not found: x"}, {"/v2/counterparty", "counterpartyId", "Counterparty not found: x"},
		{"/v2/customer", "cuid", "Customer not found: x"},
	} {
		id := c.want(200, "GET", list.path, nil)["items"].([]any)[3].(map[string]any)[list.id].(string)
		if got := c.want(200, "GET", list.path+"/"+id, nil)["item"].(map[string]any)[list.id]; got != id {
			t.Errorf("%s/%s: %v", list.path, id, got)
		}
		if r := c.do("GET", list.path+"/x", nil); r.status != 404 || r.json(t)["error"] != list.text {
			t.Errorf("%s/x: %d %s", list.path, r.status, r.body)
		}
	}
	if r := c.do("GET", "/v2/account?balance=SOME", nil); r.status != 400 {
		t.Errorf("unknown balance: %d", r.status)
	}
}
