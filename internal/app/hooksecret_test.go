package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opdeck/internal/domain/receiver/receivertest"
)

// TestWebhookSecretRotates: the steps of docs/admin.md. While the file has the new secret and then the old one, a
// delivery with either is accepted; deliveries are signed with the new one. With the new one alone, the old one is refused.
func TestWebhookSecretRotates(t *testing.T) {
	dir := t.TempDir()
	file, conf := filepath.Join(dir, "secret"), filepath.Join(dir, "config.toml")
	text := fmt.Sprintf("[webhooks]\nlisten = \"127.0.0.1:8788\"\nsecret_file = %q\n[contexts.box]\nsandbox = true\n",
		file)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	before, after := strings.Repeat("0123456789abcdef", 2), strings.Repeat("fedcba9876543210", 2)
	one := 0
	for _, step := range []struct {
		lines   string
		was, is int // the answers to deliveries with the old and the new secret
	}{{before, 200, 401}, {after + "\n" + before, 200, 200}, {after, 401, 200}} {
		if err := os.WriteFile(file, []byte(step.lines+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := Open(t.Context(), Options{ConfigFlag: conf, StateFlag: filepath.Join(dir, "state")})
		if err != nil {
			t.Fatal(err)
		}
		rec, err := a.Hooks().Receiver(os.Getenv, true)
		if err != nil {
			t.Fatal(err)
		}
		for secret, want := range map[string]int{before: step.was, after: step.is} {
			one++
			body := fmt.Sprintf(`{"hook_id":"5b55db86-17e5-4612-81f9-29d3bd50%04d","hook_type":1,`+
				`"Data":{"Operation":{"cuid":"D7k3xbc-ERrj","opid":"op-1"}}}`, one)
			req := httptest.NewRequest(http.MethodPost, "/hooks", strings.NewReader(body))
			key, _, _ := strings.Cut(secret, "\n")
			receivertest.Sign(req.Header, "", "", key, []byte(body), time.Now())
			got := httptest.NewRecorder()
			if rec.ServeHTTP(got, req); got.Code != want {
				t.Errorf("%q: answer %d, want %d: %s", step.lines, got.Code, want, got.Body)
			}
		}
		own, err := a.Hooks().Secrets(os.Getenv)
		if err != nil || own.Now.Reveal() != strings.Split(step.lines, "\n")[0] {
			t.Errorf("%q: signed with another secret, %v", step.lines, err)
		}
		if err := rec.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
