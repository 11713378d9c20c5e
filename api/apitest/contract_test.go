package apitest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"opdeck/api/apitest"
)

// recorder is a test that only notes its errors.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

type canned struct {
	status int
	body   string
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: c.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(c.body)), Request: r}, nil
}

func TestContract(t *testing.T) {
	const share = "/v2/compliance/D1/share"
	tests := []struct {
		name                string
		method, path, send  string
		token               bool
		status              int
		answer, wantInError string
	}{
		{"fine", "POST", share, `{"token":"x"}`, true, 200, `{"applied":true,"more":1}`, ""},
		{"answer lacks a field", "POST", share, `{"token":"x"}`, true, 200, `{"message":""}`, "applied"},
		{"answer has a wrong type", "POST", share, `{"token":"x"}`, true, 200, `{"applied":"yes"}`, "applied"},
		{"status unknown", "POST", share, `{"token":"x"}`, true, 418, `{}`, "breaks the contract"},
		{"error body of another shape", "POST", share, `{"token":"x"}`, true, 409, `{"message":"no"}`, "breaks the contract"},
		{"bad request was taken", "POST", share, `{}`, true, 200, `{"applied":true}`, "was taken"},
		{"bad request was refused", "POST", share, `{}`, true, 400, `{"error":"no"}`, ""},
		{"no token was taken", "POST", share, `{"token":"x"}`, false, 200, `{"applied":true}`, "no access token"},
		{"page size out of range was taken", "GET", "/v2/customer?meta.pageSize=1001", "", true, 200, `{"meta":{"pageSize":1,"page":0,"total":"0"},"items":[]}`, "meta.pageSize"},
		{"unknown path was taken", "GET", "/v2/other", "", true, 200, `{}`, "not in the contract"},
		{"unknown path was refused", "GET", "/v2/other", "", true, 404, `{}`, ""},
		{"not the service's", "GET", "/sandbox/stats", "", false, 200, `{}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := &recorder{TB: t}
			r, err := http.NewRequestWithContext(t.Context(), tt.method, "https://stage.example.com"+tt.path, strings.NewReader(tt.send))
			if err != nil {
				t.Fatal(err)
			}
			if tt.send != "" {
				r.Header.Set("Content-Type", "application/json")
			}
			if tt.token {
				r.Header.Set("Authorization", "Bearer x")
			}
			resp, err := apitest.Contract(rec, canned{tt.status, tt.answer}).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			if body, _ := io.ReadAll(resp.Body); string(body) != tt.answer {
				t.Errorf("the caller got %q", body)
			}
			all := strings.Join(rec.errors, "; ")
			if (tt.wantInError == "") != (all == "") || !strings.Contains(all, tt.wantInError) {
				t.Errorf("errors %q, want %q", all, tt.wantInError)
			}
		})
	}
}
