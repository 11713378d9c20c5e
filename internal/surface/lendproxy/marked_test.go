package lendproxy

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/domain/lending"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/surface/server/roletest"
)

// TestMarkedRecordLent: no borrower gets a marked value or the session's token, for any role, of any read that is lent,
// whatever form the service's answer has.
func TestMarkedRecordLent(t *testing.T) {
	racedetector.Skip(t)
	t.Parallel()
	m := roletest.OpenMarked(t)
	words := m.Objects(roletest.Row{})
	keys, err := m.App.BorrowerKeys(func(name string) string {
		return roletest.Key(strings.TrimPrefix(name, "KEY_"))
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), m.App, Options{Listen: "127.0.0.1:0", Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Serve(ctx) }()
	defer func() { cancel(); <-done }()
	ids := strings.NewReplacer("{opid}", words["op"], "{cuid}", words["cuid"], "{account}", words["account"], "{counterparty}", words["payee"])
	masked := 0
	long := os.Getenv("OPDECK_TEST_LONG") == "1"
	for f, form := range append([]string{"plain"}, roletest.Forms...) {
		m.Form.Store(form)
		for n, route := range endpoint.All() {
			if !route.Lent.Reads || len(route.Masked.Only) > 0 {
				continue
			}
			for k, role := range api.Roles {
				if !long && f > 0 && (f+n+k)%len(api.Roles) > 0 { // each form to one role, the others at other calls
					continue
				}
				req, err := http.NewRequestWithContext(ctx, route.Method, "http://"+l.Addr()+ids.Replace(route.Path), nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set(lending.HeaderKey, roletest.Key(string(role)))
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				var head strings.Builder
				_ = resp.Header.Write(&head)
				if leak := m.Leaks(head.String() + string(body)); leak != "" {
					t.Errorf("%s to %s in form %q: %s", route.Kind, role, form, leak)
				}
				if strings.Contains(string(body), "••••") {
					masked++
				}
			}
		}
	}
	if masked < len(api.Roles) {
		t.Errorf("%d answers were masked: too few to judge", masked)
	}
}
