package app

import (
	"crypto/sha256"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opdeck/api/hook"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/sandbox"
)

// TestDoctorNamesUnusableDeliveries: deliveries that were accepted and cannot be used (a batch, a form) are a warning
// with the reason, not a healthy feed.
func TestDoctorNamesUnusableDeliveries(t *testing.T) {
	svc, err := sandbox.Open(t.Context(), sandbox.Options{Operations: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = svc.Close() })
	srv := httptest.NewServer(svc.Handler())
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	file := filepath.Join(dir, "opdeck.toml")
	text := fmt.Sprintf("[contexts.t]\nbase_url = %q\nlogin = %q\npassword_env = \"PW\"\n"+
		"[webhooks]\nlisten = \"127.0.0.1:8788\"\nverify = \"none\"\n", srv.URL, sandbox.DefaultLogin)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	opt := Options{ConfigFlag: file, StateFlag: filepath.Join(dir, "state"), Getenv: func(name string) string {
		return map[string]string{"PW": sandbox.DefaultPassword, "HOME": dir}[name]
	}}
	feed := func() (found Finding) {
		Doctor(t.Context(), opt, nil, Shallow, func(f Finding) {
			if f.Name == "feed" {
				found = f
			}
		})
		return found
	}
	if f := feed(); f.Health != Healthy {
		t.Errorf("without a delivery: %+v", f)
	}
	a, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	raw := []byte(`[{"hook_id":"1"},{"hook_id":"2"}]`)
	_, err = a.Hooks().Inbox().Insert(t.Context(), []receiver.Record{{Key: "k", Raw: raw, Hash: sha256.Sum256(raw),
		ReceivedAt: time.Now(), Source: "192.0.2.1", Verdict: hook.Verdict{Verifier: hook.VerifyNone},
		Status: receiver.Quarantined, Reason: hook.ReasonJSON, Detail: "the body is a list"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if f := feed(); f.Health != Warned || !strings.Contains(f.Text, "1 delivery of the last 24 hours cannot be used") ||
		!strings.Contains(f.Text, "the body is a list") {
		t.Errorf("%+v", f)
	}
}
