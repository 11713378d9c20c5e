package lendproxy

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/act"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/lending"
)

// lent lists the calls that scripts may make.
func lent() []*endpoint.Route {
	return slices.DeleteFunc(endpoint.All(), func(r *endpoint.Route) bool { return !r.IsLent() })
}

// sample is a request for a route, fit for the service.
func (r *rig) sample(route *endpoint.Route, n int) (path, body string, header map[string]string) {
	r.t.Helper()
	op, doc := r.operation(false)
	cuid := string(op.Customer.CUID)
	path = route.Path
	header = map[string]string{"Content-Type": "application/json"}
	for name, id := range map[string]string{"opid": string(op.OPID), "guid": string(doc.GUID), "cuid": cuid, "file": cuid} {
		path = strings.ReplaceAll(path, "{"+name+"}", id)
	}
	switch route.Kind {
	case "document.attach":
		body = fmt.Sprintf(`{"documentId": %q}`, doc.GUID)
	case "document.upload":
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		_ = w.WriteField("customerId", cuid)
		part, _ := w.CreateFormFile("attach", fmt.Sprintf("a-%d.pdf", n))
		_, _ = fmt.Fprintf(part, "%%PDF-1.4\n%% %d\n", n)
		_ = w.Close()
		body, header["Content-Type"] = b.String(), w.FormDataContentType()
	case "customer.set-application":
		body = `{"individual": {"application": {"firstName": "A", "lastName": "B"}}}`
	case "compliance.share":
		body = fmt.Sprintf(`{"token": "demo-individual-ok-%d"}`, n)
	case "hook.set":
		body = `{"parameters": {"enabled": true, "hookUrl": "https://hooks.example.com/x", "jwtSecret": "0123456789abcdef0123456789abcdef",
			"hookCustomer": true, "hookOperation": true, "hookDepositAccount": false, "hookCounterparty": false}}`
	}
	return path, body, header
}

// TestWritesByBorrowers: every write that is lent, as a borrower of a role that may change nothing and of one that may:
// who may sends it as the service takes it, who may not sends nothing.
func TestWritesByBorrowers(t *testing.T) {
	r := newRig(t, "")
	sent := 0
	r.set(func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		sent++
		next.ServeHTTP(w, req)
	})
	n, writes := 0, 0
	for _, route := range lent() {
		if !route.Writes() {
			continue
		}
		writes++
		row := act.Of(route.Kind)
		for _, role := range []api.Role{api.Viewer, api.Admin} {
			n++
			path, body, header := r.sample(route, n)
			header[lending.HeaderKey] = keyOf(string(role))
			before := sent
			a := r.send(http.DefaultClient, route.Method, r.url+path, body, header)
			may := role.May(row.Need)
			switch {
			case !may && (a.status != 403 || a.err.Kind != api.Refused || sent != before || !strings.Contains(a.err.Hint, "Roles that may")):
				t.Errorf("%s as %s: %d %s, %d sent", route.Kind, role, a.status, a.body, sent-before)
			case may && a.err.Kind == api.Usage:
				t.Errorf("%s as %s: does it take a body? sample has none, or another: %s", route.Kind, role, a.body)
			case may && (sent == before || a.status >= 500):
				t.Errorf("%s as %s: %d %s, %d sent", route.Kind, role, a.status, a.body, sent-before)
			}
			t.Logf("%-25s %-9s %d", route.Kind, role, a.status)
		}
	}
	if writes < 8 {
		t.Errorf("%d writes are lent", writes)
	}
}

// TestReadsByRoles: what takes data out asks for the permission that its command asks
// for.
func TestReadsByRoles(t *testing.T) {
	r := newRig(t, "")
	for _, route := range lent() {
		if route.Writes() {
			continue
		}
		for _, role := range api.Roles {
			no := lending.Call{Route: route}.Refusal(role, true)
			need := route.Need
			if row := act.Of(route.Kind); row != nil {
				need = row.Need
			}
			if (no == nil) != role.May(need) {
				t.Errorf("%s as %s: %v", route.Path, role, no)
			}
		}
	}
	if a := r.call("viewer", "GET", "/v2/customer/abc/file/def", ""); a.status != 403 {
		t.Errorf("a viewer downloads: %d", a.status)
	}
}

// TestLockedAndUnapproved never reach the service.
func TestLockedAndUnapproved(t *testing.T) {
	r := newRig(t, `approval = "second_person"|`)
	op, doc := r.operation(true)
	path := "/v2/billing/operation/" + string(op.OPID) + "/document/"
	if a := r.call("operator", "DELETE", path+string(doc.GUID), ""); a.status != 409 || !strings.Contains(a.err.Message, "locked") {
		t.Errorf("locked: %d %s", a.status, a.body)
	}
	op, doc = r.operation(false)
	path = "/v2/billing/operation/" + string(op.OPID) + "/document/" + string(doc.GUID)
	a := r.call("operator", "DELETE", path, "")
	again := r.call("operator", "DELETE", path, "")
	if a.status != 202 || a.filed == "" || again.filed != a.filed || !strings.Contains(a.err.Message, a.filed) {
		t.Fatalf("%d %s, then %s", a.status, a.body, again.body)
	}
	if n := r.calls("remove"); n != 0 {
		t.Fatalf("%d removals reached the service", n)
	}
	ctx := api.WithActor(t.Context(), api.Actor{Name: "bea", Role: api.Operator, Via: "ssh", Key: "SHA256:of-bea", Login: "bea"})
	self := api.WithActor(t.Context(), api.Actor{Name: "operator", Role: api.Operator, Via: lending.Via, Key: "HMAC:of-another", Login: "lend operator"})
	if _, err := r.app.Approvals.Approve(self, a.filed, "", ""); err == nil {
		t.Error("a borrower approved for itself")
	}
	r.app.AuthorizeSSH(func(approval.Person) (api.Role, error) { return api.Operator, nil })
	if _, err := r.app.Approvals.Approve(ctx, a.filed, "", ""); err != nil {
		t.Fatal(err)
	}
	if a := r.call("admin", "DELETE", path, ""); a.status != 202 {
		t.Errorf("another borrower used the approval: %d %s", a.status, a.body)
	}
	if a := r.call("operator", "DELETE", path, ""); a.status != 200 || strings.Contains(a.body, string(doc.GUID)) || r.calls("remove") != 1 {
		t.Errorf("approved: %d %s, %d removals", a.status, a.body, r.calls("remove"))
	}
}

// TestUnknownOutcome is 504 and says where to follow it; nothing is sent twice.
func TestUnknownOutcome(t *testing.T) {
	r := newRig(t, "")
	op, doc := r.operation(false)
	r.set(func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodDelete {
			next.ServeHTTP(nowhere{http.Header{}}, req) // it is done, and its answer gets lost
			panic(http.ErrAbortHandler)
		}
		if r.calls("remove") > 0 {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, req)
	})
	a := r.call("operator", "DELETE", "/v2/billing/operation/"+string(op.OPID)+"/document/"+string(doc.GUID), "")
	if a.status != 504 || a.err.Kind != api.UnknownOutcome || !strings.Contains(a.err.Hint, "opdeck audit unsettled") || r.calls("remove") != 1 {
		t.Errorf("%d %s, %d removals", a.status, a.body, r.calls("remove"))
	}
}

type nowhere struct{ h http.Header }

func (n nowhere) Header() http.Header         { return n.h }
func (n nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n nowhere) WriteHeader(int)             {}

// TestBadBodies are refused before anything is sent.
func TestBadBodies(t *testing.T) {
	r := newRig(t, "")
	op, doc := r.operation(false)
	opid, cuid := string(op.OPID), string(op.Customer.CUID)
	r.set(func(_ http.Handler, _ http.ResponseWriter, req *http.Request) {
		t.Errorf("%s %s was sent", req.Method, req.URL)
	})
	for _, c := range []struct{ method, path, kind, body string }{
		{"POST", "/v2/billing/operation/" + opid + "/document", "application/json", `{"documentId":"` + string(doc.GUID) + `","force":true}`},
		{"POST", "/v2/billing/operation/" + opid + "/document", "application/json", `{"documentId":"../x"}`},
		{"POST", "/v2/billing/operation/" + opid + "/document", "application/json", `{"documentId":"a"}{"documentId":"b"}`},
		{"POST", "/v2/billing/operation/" + opid + "/document", "text/xml", `<x/>`},
		{"POST", "/v2/billing/operation/" + opid + "/document", "application/json", ``},
		{"DELETE", "/v2/billing/operation/" + opid + "/document/" + string(doc.GUID), "", `x`},
		{"PATCH", "/v2/customer/" + cuid + "/application", "application/json", `{}`},
		{"POST", "/v2/customer/" + cuid + "/application", "application/json", `{"individual":{},"corporate":{}}`},
		{"POST", "/v2/compliance/" + cuid + "/share", "application/json", `{"token":"short"}`},
		{"POST", "/v2/compliance/" + cuid + "/share", "application/json", `{"token":"long-enough-token","more":"x"}`},
		{"POST", "/v2/customer/file", "application/json", `{}`},
		{"POST", "/v2/customer/file", "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"attach\"; filename=\"a\"\r\n\r\nx\r\n--b--\r\n"},
		{"POST", "/v2/hook/set", "application/json", `{"parameters":{"enabled":true}}`},
	} {
		a := r.send(http.DefaultClient, c.method, r.url+c.path, c.body, map[string]string{lending.HeaderKey: keyOf("admin"), "Content-Type": c.kind})
		if a.status != 400 || a.err.Kind != api.Usage || a.err.Message == "" {
			t.Errorf("%s %s %q: %d %s", c.method, c.path, c.body, a.status, a.body)
		}
	}
}
