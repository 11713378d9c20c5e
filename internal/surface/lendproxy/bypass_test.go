package lendproxy

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"

	"opdeck/api"
	"opdeck/internal/domain/lending"
)

// TestViewerGetsNoUnmaskedAnswer: an answer that cannot be masked is refused to a role that may not reveal, whatever
// its encoding, type and nesting.
func TestViewerGetsNoUnmaskedAnswer(t *testing.T) {
	r := newRig(t, "")
	const number = "12345678904321"
	record := `{"account":{"number":"` + number + `"}}`
	wide := ""
	for _, u := range utf16.Encode([]rune(record)) {
		wide += string([]byte{byte(u), byte(u >> 8)})
	}
	body := ""
	r.set(func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	})
	for _, body = range []string{record, "\xef\xbb\xbf" + record, record + "\n" + record, record[:30], wide, "<n>" + number +
		"</n>", "<html><body>" + number, "account " + number, `{"payload":"{\"number\":\"` + number + `\"}"}`} {
		if a := r.call("viewer", "GET", "/v2/customer", ""); strings.Contains(strings.ReplaceAll(a.body, "\x00", ""), number) {
			t.Errorf("%q: %d %q", body, a.status, a.body)
		}
	}
}

// TestViewerDoesNotSearchByNumber: a search by a masked value would recover it, so it is not sent; nor is a name that
// the call does not declare.
func TestViewerDoesNotSearchByNumber(t *testing.T) {
	r := newRig(t, "")
	r.set(func(_ http.Handler, _ http.ResponseWriter, req *http.Request) { t.Errorf("%s was sent", req.URL) })
	for _, path := range []string{"/v2/counterparty/account?number=DE", "/v2/counterparty/account?Number=DE",
		"/v2/counterparty/account?meta.pageSize=1&number=DE", "/v2/counterparty/account?%6eumber=DE",
		"/v2/billing/operation?account=DE", "/v2/billing/operation?anything=DE"} {
		if a := r.call("viewer", "GET", path, ""); a.status != 403 || a.err.Kind != api.Refused || a.err.Message == "" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// TestLentHooksPassTheGuard: the webhook settings of a script pass the guard of the command.
func TestLentHooksPassTheGuard(t *testing.T) {
	r := newRig(t, "")
	r.set(func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPost {
			t.Errorf("%s was sent", req.URL)
		}
		next.ServeHTTP(w, req)
	})
	for _, set := range []string{`"hookUrl":"http://foreign.example/x","jwtSecret":"0123456789abcdef0123456789abcdef"`,
		`"hookUrl":"https://h.example/x","jwtSecret":"x"`} {
		body := `{"parameters":{"enabled":true,"hookCustomer":true,"hookOperation":true,"hookDepositAccount":false,` +
			`"hookCounterparty":false,` + set + `}}`
		a := r.send(http.DefaultClient, "POST", r.url+"/v2/hook/set", body, map[string]string{
			lending.HeaderKey: keyOf("admin"), "Content-Type": "application/json"})
		if a.status != 400 || a.err.Message == "" {
			t.Errorf("%s: %d %s", set, a.status, a.body)
		}
	}
}
