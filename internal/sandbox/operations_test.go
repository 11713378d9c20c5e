package sandbox_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"opdeck/internal/sandbox"
)

// all reads every operation that matches.
func (c *client) all(filter url.Values) []map[string]any {
	c.t.Helper()
	var list []map[string]any
	for page := 0; ; page++ {
		q := url.Values{"meta.pageSize": {"100"}, "meta.page": {strconv.Itoa(page)}}
		for k, v := range filter {
			q[k] = v
		}
		v := c.want(200, "GET", "/v2/billing/operation?"+q.Encode(), nil)
		items := v["items"].([]any)
		for _, i := range items {
			list = append(list, i.(map[string]any))
		}
		if len(items) < 100 {
			if total := v["meta"].(map[string]any)["total"]; total != strconv.Itoa(len(list)) {
				c.t.Errorf("total %v, read %d", total, len(list))
			}
			return list
		}
	}
}

func at(t *testing.T, op map[string]any) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339Nano, op["createdAt"].(string))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func values(ops []map[string]any, field string) []string {
	var list []string
	for _, o := range ops {
		list = append(list, o[field].(string))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func TestSampleData(t *testing.T) {
	c := connect(t, open(t, sandbox.Options{Operations: 500})).login()
	ops := c.all(nil)
	if len(ops) != sandbox.DefaultOperations {
		t.Fatalf("%d operations", len(ops))
	}
	ids := map[string]bool{}
	for i, o := range ops {
		ids[o["opid"].(string)] = true
		if i > 0 && at(t, ops[i-1]).Before(at(t, o)) {
			t.Errorf("operation %d is newer than the one before it", i)
		}
	}
	if len(ids) != len(ops) {
		t.Errorf("%d different ids of %d", len(ids), len(ops))
	}
	for field, want := range map[string][]string{
		"status":      {"CANCELED", "COMPLETED", "FAILED", "PENDING", "PROCESSING", "SUCCESS", "ON_HOLD_REVIEW"},
		"type":        {"DEPOSIT", "TRANSFER", "WITHDRAW", "EXCHANGE", "LOAN"},
		"paymentType": {"EMPTY", "ACH", "FEDWIRE", "SWIFT", "CRYPTO", "EFT", "SEPA_CT", "IMPS", "RTP_INSTANT"},
	} {
		have := values(ops, field)
		slices.Sort(want)
		if !slices.Equal(have, want) {
			t.Errorf("%s: %v, want %v", field, have, want)
		}
	}
	locked, unlocked, currencies := 0, 0, map[string]bool{}
	for _, o := range ops {
		for _, d := range o["documents"].([]any) {
			if d.(map[string]any)["isLock"].(bool) {
				locked++
			} else {
				unlocked++
			}
		}
		currencies[o["sourceAmount"].(map[string]any)["sum"].(map[string]any)["currencyCode"].(string)] = true
	}
	for _, cur := range []string{"JPY", "EUR", "USD", "KWD", "BTC", "XQZ"} {
		if !currencies[cur] {
			t.Errorf("no operation in %s", cur)
		}
	}
	if locked < 50 || unlocked < 200 {
		t.Errorf("%d locked, %d unlocked documents", locked, unlocked)
	}
}

func TestSeedDecides(t *testing.T) {
	read := func(seed uint64) string {
		c := connect(t, open(t, sandbox.Options{Seed: seed})).login()
		return string(c.do("GET", "/v2/billing/operation?meta.pageSize=100", nil).body) +
			string(c.do("GET", "/v2/customer", nil).body)
	}
	first := read(1)
	if again := read(1); first != again {
		t.Error("the same seed gives different data")
	}
	if first == read(2) {
		t.Error("different seeds give the same data")
	}
}

func TestSpecialOperations(t *testing.T) {
	c := connect(t, open(t, sandbox.Options{})).login()
	raw := func(n int) string {
		return string(c.do("GET", "/v2/billing/operation/"+c.opid(n), nil).body)
	}
	for n, part := range map[int]string{
		10: `"units":"98765432109876543210"`, 11: `"nanos":-560000000`, 12: `"nanos":1,`, 13: `"nanos":999999999`,
		14: `"currencyCode":"XQZ"`,
		15: `"nanos":-500000000`, 16: `\u001b]52;c;`, 17: "\u202e", 18: "\u200b", 19: `\u0000`,
		21: `"bigNumber":12345678901234567890`,
		35: `"destination":null`,
	} {
		body := raw(n)
		if !strings.Contains(body, part) {
			t.Errorf("operation %d lacks %s: %.300s", n, part, body)
		}
		if locks := strings.Count(body, `"isLock":`); locks != 2 || !strings.Contains(body, `"isLock":true`) {
			t.Errorf("operation %d has %d documents: %s", n, locks, body)
		}
	}
	for n, name := range map[int]string{16: `scan\u001b[2J`, 17: "invoice\u202efdp.exe", 18: "in\u200bvoice", 19: `two\r\nlines`} {
		if body := raw(n); !strings.Contains(body, name) {
			t.Errorf("operation %d has no document %q: %s", n, name, body)
		}
	}
	if body := raw(21); !strings.Contains(body, `"riskScore":0.12345678901234568`) ||
		!strings.Contains(body, `"trace":{`) {
		t.Errorf("unknown fields: %s", body)
	}
	first := c.operation(0)
	if first["status"] != "PENDING" || len(first["documents"].([]any)) != 3 {
		t.Errorf("the newest operation is meant for trying things: %v", first)
	}
}

func TestListWindow(t *testing.T) {
	c := connect(t, open(t, sandbox.Options{Operations: 45})).login()
	tests := []struct {
		query  string
		status int
		items  int
	}{
		{"", 200, 20},
		{"meta.pageSize=100", 200, 45},
		{"meta.page=2", 200, 5},
		{"meta.page=3", 200, 0},
		{"meta.pageSize=1000", 200, 45},
		{"meta.pageSize=1001", 400, 0},
		{"meta.pageSize=0", 400, 0},
		{"meta.page=-1", 400, 0},
		{"meta.page=x", 400, 0},
		{"fromCreatedAt=yesterday", 400, 0},
	}
	for _, tt := range tests {
		r := c.do("GET", "/v2/billing/operation?"+tt.query, nil)
		if r.status != tt.status {
			t.Errorf("%q: %d %s", tt.query, r.status, r.body)
			continue
		}
		if items, _ := r.json(t)["items"].([]any); len(items) != tt.items {
			t.Errorf("%q: %d items, want %d", tt.query, len(items), tt.items)
		}
	}
}

// TestListFilters compares each filter with a scan over everything.
func TestListFilters(t *testing.T) {
	c := connect(t, open(t, sandbox.Options{Operations: 500})).login()
	ops := c.all(nil)
	account := func(o map[string]any, side, field string) any {
		s, _ := o[side].(map[string]any)
		a, _ := s["account"].(map[string]any)
		return a[field]
	}
	sample := ops[0]
	number := account(sample, "source", "number").(string)
	id := account(sample, "source", "id").(string)
	cuid := sample["customer"].(map[string]any)["cuid"].(string)
	from, to := at(t, ops[400]), at(t, ops[100])
	tests := []struct {
		name   string
		filter url.Values
		want   func(map[string]any) bool
	}{
		{"account id", url.Values{"account": {id}}, func(o map[string]any) bool {
			return account(o, "source", "id") == id || account(o, "destination", "id") == id
		}},
		{"account number", url.Values{"account": {number}}, func(o map[string]any) bool {
			return account(o, "source", "number") == number || account(o, "destination", "number") == number
		}},
		{"cuid", url.Values{"clientCuid": {cuid}}, func(o map[string]any) bool {
			return o["customer"].(map[string]any)["cuid"] == cuid
		}},
		{"name", url.Values{"clientName": {"ceDAR"}}, func(o map[string]any) bool {
			return strings.Contains(o["customer"].(map[string]any)["name"].(string), "Cedar")
		}},
		{"name with a joker", url.Values{"clientName": {"%"}}, func(map[string]any) bool { return false }},
		{"status", url.Values{"status": {"FAILED"}}, func(o map[string]any) bool { return o["status"] == "FAILED" }},
		{"type", url.Values{"type": {"DEPOSIT"}}, func(o map[string]any) bool { return o["type"] == "DEPOSIT" }},
		{"payment type", url.Values{"paymentType": {"SEPA_CT"}},
			func(o map[string]any) bool { return o["paymentType"] == "SEPA_CT" }},
		{"unknown status", url.Values{"status": {"NEVER"}}, func(map[string]any) bool { return false }},
		{"time", url.Values{"fromCreatedAt": {from.Format(time.RFC3339Nano)}, "toCreatedAt": {to.Format(time.RFC3339Nano)}},
			func(o map[string]any) bool { return !at(t, o).Before(from) && !at(t, o).After(to) }},
		{"both", url.Values{"status": {"SUCCESS"}, "clientCuid": {cuid}}, func(o map[string]any) bool {
			return o["status"] == "SUCCESS" && o["customer"].(map[string]any)["cuid"] == cuid
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var want, have []string
			for i, o := range ops {
				if i != 18 && i != 21 && tt.want(o) { // these two show other texts than they are stored under
					want = append(want, o["opid"].(string))
				}
			}
			for _, o := range c.all(tt.filter) {
				if id := o["opid"].(string); id != ops[18]["opid"] && id != ops[21]["opid"] {
					have = append(have, id)
				}
			}
			if !slices.Equal(have, want) {
				t.Errorf("%d found, %d expected", len(have), len(want))
			}
		})
	}
}

func TestTree(t *testing.T) {
	c := connect(t, open(t, sandbox.Options{Operations: 100})).login()
	parents := 0
	for _, o := range c.all(nil)[:50] {
		v := c.want(200, "GET", "/v2/billing/operation/"+o["opid"].(string)+"/tree", nil)
		item, children := v["item"].(map[string]any), v["children"].([]any)
		if item["opid"] != o["opid"] || item["provider"] == nil {
			t.Fatalf("tree of %v: %v", o["opid"], item)
		}
		if o["isParent"] != (len(children) == 2) {
			t.Errorf("%v: isParent %v with %d children", o["opid"], o["isParent"], len(children))
		}
		if o["isParent"] == true {
			parents++
		}
	}
	if parents != 2 {
		t.Errorf("%d parents among 50", parents)
	}
	if r := c.do("GET", "/v2/billing/operation/nope/tree", nil); r.status != 404 {
		t.Errorf("unknown tree: %d", r.status)
	}
}

func TestGetOperation(t *testing.T) {
	c := connect(t, open(t, sandbox.Options{})).login()
	listed, err := json.Marshal(c.operation(5))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(c.want(200, "GET", "/v2/billing/operation/"+c.opid(5), nil)["item"])
	if err != nil || string(got) != string(listed) {
		t.Errorf("get and list differ:\n%s\n%s", got, listed)
	}
	for _, id := range []string{"x", "00000000-0000-4000-8000-000000000000", "urn:uuid:" + c.opid(0)} {
		r := c.do("GET", "/v2/billing/operation/"+id, nil)
		if r.status != 404 || r.json(t)["error"] != "Operation not found: "+id {
			t.Errorf("%s: %d %s", id, r.status, r.body)
		}
	}
	if r := c.do("PUT", "/v2/billing/operation", nil); r.status != 404 {
		t.Errorf("wrong method: %d", r.status)
	}
	if r := c.do("GET", "/v2/nowhere", nil); r.status != 404 {
		t.Errorf("unknown path: %d", r.status)
	}
}
