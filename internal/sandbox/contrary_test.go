package sandbox_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"opdeck/internal/sandbox"
	"opdeck/internal/sandbox/faulty"
)

// contrary is a client of a service with faults, logged in before they begin.
// The contract does not hold for what it answers.
func contrary(t *testing.T, spec string) (*faulty.Service, *client) {
	t.Helper()
	s := open(t, sandbox.Options{})
	c := connect(t, s).login()
	c.http = &http.Client{Transport: s.Transport(), CheckRedirect: stay}
	s.SetFaults(faults(t, spec))
	return s, c
}

// removal is the newest operation with its first document, and the call that
// takes it off.
func removal(c *client) (opid, document, call string) {
	o := c.operation(0)
	opid, document = o["opid"].(string), documents(o)[0]["guid"].(string)
	return opid, document, path(opid, document)
}

// TestAnswers: each answer, with the removal behind it done and not done.
func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		answer string
		status int
		kind   string // Content-Type
		body   string // with OP and DOC
	}{
		{"html", 200, "text/html", "<!doctype html><title>Maintenance</title><p>Back soon."},
		{"empty", 200, "application/json", "{}"},
		{"none", 200, "", ""},
		{"null", 200, "application/json", "null"},
		{"list", 200, "application/json", "[]"},
		{"text", 200, "text/plain", "OK"},
		{"item", 200, "application/json", `{"item":{}}`},
		{"ok", 200, "application/json", `{"success":true,"message":"OK"}`},
		{"false", 200, "application/json", `{"success":false,"message":"Not done"}`},
		{"error", 200, "application/json", `{"error":"Something went wrong"}`},
		{"204", 204, "", ""},
		{"201/empty", 201, "application/json", "{}"},
		{"400/no-operation", 400, "application/json", `{"error":"Operation not found: OP"}`},
		{"422/no-document", 422, "application/json", `{"error":"Document not found: DOC"}`},
		{"500/unattached", 500, "application/json", `{"error":"Document DOC is not attached to operation OP"}`},
		{"200/ended", 200, "application/json", `{"error":"Cannot modify documents for completed operations"}`},
		{"423/locked", 423, "application/json", `{"error":"Document is locked and cannot be removed"}`},
		{"403/none", 403, "", ""},
		{"409/=Not%20now%2C%20please", 409, "application/json", `{"error":"Not now, please"}`},
		{"408", 408, "application/json", `{"error":"Request Timeout"}`},
		{"425", 425, "application/json", `{"error":"Too Early"}`},
		{"499/none", 499, "", ""},
		{"502/html", 502, "text/html", "<!doctype html><title>Maintenance</title><p>Back soon."},
		{"504", 504, "application/json", `{"error":"Gateway Timeout"}`},
	} {
		t.Run(strings.ReplaceAll(tt.answer, "/", " "), func(t *testing.T) {
			for kind, left := range map[string]int{"status": 3, "after": 2} {
				s, c := contrary(t, kind+"=remove:"+tt.answer)
				opid, document, call := removal(c)
				r := c.do("DELETE", call, nil)
				want := strings.NewReplacer("OP", opid, "DOC", document).Replace(tt.body)
				if r.status != tt.status || r.header.Get("Content-Type") != tt.kind || string(r.body) != want {
					t.Errorf("%s: %d %q %s, want %d %q %s", kind, r.status, r.header.Get("Content-Type"), r.body, tt.status, tt.kind,
						want)
				}
				if n := len(documents(c.operation(0))); n != left {
					t.Errorf("%s: %d documents are left, want %d", kind, n, left)
				}
				if st, err := s.Stats(t.Context()); err != nil || st.Calls["remove"] != 1 || st.Done["remove"] != int64(3-left) {
					t.Errorf("%s: %v, %v, %v", kind, st.Calls, st.Done, err)
				}
			}
		})
	}
}

// TestAnswersWithAnOperation: the answer holds an operation, but not the proof.
func TestAnswersWithAnOperation(t *testing.T) {
	for spec, want := range map[string]int{"after=remove:stale": 3, "after=remove:now": 2, "status=remove:stale": 3,
		"status=remove:now": 3, "after=remove:no-documents": -1, "after=remove:other": 2} {
		_, c := contrary(t, spec)
		opid, _, call := removal(c)
		item := c.want(200, "DELETE", call, nil)["item"].(map[string]any)
		n := -1
		if list, has := item["documents"].([]any); has {
			n = len(list)
		}
		if n != want || (item["opid"] == opid) == strings.Contains(spec, "other") {
			t.Errorf("%s: %d documents in %v", spec, n, item["opid"])
		}
	}
}

// TestRefusals are made in another way than usual.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		spec         string
		status       int
		kind, body   string
		unauthorized bool
	}{
		{"refusal=remove:500/own", 500, "application/json", `{"error":"Cannot modify documents for completed operations"}`,
			false},
		{"refusal=write:200/own", 200, "application/json", `{"error":"Cannot modify documents for completed operations"}`,
			false},
		{"refusal=billing:-/none", 409, "", "", false},
		{"refusal=*:200/own,style=*:success", 200, "application/json",
			`{"success":false,"message":"Cannot modify documents for completed operations"}`, false},
		{"style=*:message", 409, "application/json", `{"message":"Cannot modify documents for completed operations"}`, false},
		{"style=*:nested", 409, "application/json",
			`{"error":{"code":7,"message":"Cannot modify documents for completed operations"}}`, false},
		{"style=*:list", 409, "application/json",
			`{"errors":[{"message":"Cannot modify documents for completed operations"}]}`, false},
		{"style=*:text", 409, "text/plain", "Cannot modify documents for completed operations", false},
		{"style=*:none", 409, "", "", false},
		{"unauthorized=api:403/own", 403, "application/json", `{"error":"Invalid or expired access token"}`, true},
		{"unauthorized=api:400/revoked", 400, "application/json", `{"error":"Token revoked. Please log in again"}`, true},
		{"unauthorized=api:200/unauthorized", 200, "application/json", `{"error":"Unauthorized"}`, true},
		{"refusal=*:500/own", 401, "application/json", `{"error":"Invalid or expired access token"}`, true},
	} {
		t.Run(strings.ReplaceAll(tt.spec, "/", " "), func(t *testing.T) {
			_, c := contrary(t, tt.spec)
			o := c.operation(1) // has ended
			if tt.unauthorized {
				c.access = "gone"
			}
			r := c.do("DELETE", path(o["opid"].(string), documents(o)[0]["guid"].(string)), nil)
			if r.status != tt.status || r.header.Get("Content-Type") != tt.kind || string(r.body) != tt.body {
				t.Errorf("%d %q %s", r.status, r.header.Get("Content-Type"), r.body)
			}
		})
	}
}

// TestLoginRefusals: the same for wrong passwords, the second factor and
// refresh tokens, and only then.
func TestLoginRefusals(t *testing.T) {
	s := openFaulty(t, faulty.Options{Faults: faults(t, "unauthorized=login:500/own,unauthorized=refresh:200/revoked,style=refresh:success")})
	c := connect(t, s)
	c.http.Transport = s.Transport()
	body := map[string]string{"login": sandbox.DefaultLogin, "password": "wrong"}
	if r := c.do("POST", "/v2/auth/login", body); r.status != 500 ||
		string(r.body) != `{"error":"Invalid login or password"}` {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := c.do("GET", "/v2/auth/refresh/old", nil); r.status != 200 ||
		string(r.body) != `{"success":false,"message":"Token revoked. Please log in again"}` {
		t.Errorf("%d %s", r.status, r.body)
	}
	c.login().want(200, "GET", anyCall, nil)
	for spec, want := range map[string]string{
		"status=login:400/=Verification%20code%20required": "Verification code required", "status=login:200/is2fa": "is2fa",
		"status=login:403/totp": "TOTP"} {
		s.SetFaults(faults(t, spec))
		if _, body, _, _ := c.try(); !strings.Contains(string(body), want) {
			t.Errorf("%s: %s", spec, body)
		}
	}
}

// TestShapes: the same content in other shapes.
func TestShapes(t *testing.T) {
	const list = "/v2/billing/operation?meta.pageSize=2"
	for _, tt := range []struct {
		spec, call string
		has        []string
		lacks      []string
	}{
		{"shape=api:numbers-as-text", list, []string{`"pageSize":"2"`, `"nanos":"`, `"size":"`},
			[]string{`"size":1`, `"nanos":0`}},
		{"shape=list:text-as-numbers", list, []string{`"total":40}`, `"units":`}, []string{`"units":"`, `"number":0`}},
		{"shape=list:booleans-as-text", list, []string{`"isVisible":"true"`, `"isLock":"false"`}, nil},
		{"shape=list:booleans-as-numbers", list, []string{`"isVisible":1`, `"isLock":0`}, nil},
		{"shape=customers:empty-as-null", "/v2/customer", []string{`"comment":null`}, []string{`""`}},
		{"shape=customers:empty-left-out", "/v2/customer", nil, []string{`"comment"`, `""`}},
		{"rename=list:items/operations", list, []string{`"operations":[{`, `"total":"40"`}, []string{`"items"`}},
		{"lift=list:items", list, []string{`[{"comment"`}, []string{`"meta"`}},
		{"under=list:data", list, []string{`{"data":{"items":[{`}, nil},
		{"rename=list:items/content,under=list:data", list, []string{`{"data":{"content":[{`}, nil},
		{"wrap=list:item", list, []string{`[{"item":{"comment"`, `"documents":[{"createAt"`}, nil},
		{"lift=list:items,wrap=list:item", list, []string{`[{"item":{"comment"`}, nil},
		{"without=list:total", list, []string{`"meta":{"page":0,"pageSize":2}`}, []string{`"total"`}},
		{"omit=list:meta", list, []string{`{"items":[`}, []string{`"meta"`}},
		{"rename=files:id/guid", "/v2/customer/CUID/file", []string{`"guid":"`}, []string{`"id":"`}},
		{"mime=list:text/plain", list, []string{`"items"`}, nil},
	} {
		t.Run(strings.ReplaceAll(tt.spec, "/", " "), func(t *testing.T) {
			s, c := contrary(t, "")
			call := strings.ReplaceAll(tt.call, "CUID", c.cuid("Cedar"))
			s.SetFaults(faults(t, tt.spec))
			r := c.do("GET", call, nil)
			if r.status != 200 || !json.Valid(r.body) {
				t.Fatalf("%d %s", r.status, r.body)
			}
			for _, part := range tt.has {
				if !strings.Contains(string(r.body), part) {
					t.Errorf("no %s in %s", part, r.body)
				}
			}
			for _, part := range tt.lacks {
				if strings.Contains(string(r.body), part) {
					t.Errorf("%s in %s", part, r.body)
				}
			}
			want := "application/json"
			if _, kind, is := strings.Cut(tt.spec, "mime=list:"); is {
				want = kind
			}
			if got := r.header.Get("Content-Type"); got != want {
				t.Errorf("Content-Type %q", got)
			}
		})
	}
}

// TestNoContentType: an answer may come without one.
func TestNoContentType(t *testing.T) {
	both(t, faulty.Options{Options: sandbox.Options{Operations: 1}, Faults: faults(t, "mime=login:none")},
		func(t *testing.T, _ *faulty.Service, c *client) {
			if status, body, header, err := c.try(); status != 200 || err != nil || len(header["Content-Type"]) > 0 ||
				!json.Valid(body) {
				t.Errorf("%d %v %v", status, header, err)
			}
		})
}

// TestUploadShapes: the id of an upload has another name, another place, or is missing.
func TestUploadShapes(t *testing.T) {
	for spec, want := range map[string]string{
		"rename=upload:id/documentId": `"documentId":"`, "rename=upload:id/fileId": `"fileId":"`,
		"rename=upload:id/uuid": `"uuid":"`,
		"under=upload:item":     `{"item":{`, "omit=upload:id": `{"createAt":`, "after=upload:ok": `{"success":true,`,
		"rename=upload:id/guid,under=upload:data": `"guid":"`,
	} {
		_, c := contrary(t, spec)
		r := upload(c, c.cuid("Cedar"), "a.pdf", "application/pdf", []byte("%PDF-1.4"), nil)
		if r.status != 200 || !strings.Contains(string(r.body), want) ||
			strings.Contains(string(r.body), `"id"`) == !strings.Contains(spec, "under=upload:item") {
			t.Errorf("%s: %d %s", spec, r.status, r.body)
		}
		if n := c.want(200, "GET", "/v2/customer/"+c.cuid("Cedar")+"/file", nil)["meta"].(map[string]any)["total"]; n == "0" {
			t.Errorf("%s: nothing was stored", spec)
		}
	}
}
