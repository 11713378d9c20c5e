package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"opdeck/api/endpoint"
	"opdeck/api/limit"
	"opdeck/internal/sandbox"
)

// service counts the calls of each class and lets other answer first.
type service struct {
	next  http.Handler
	other func(w http.ResponseWriter, r *http.Request) bool // true: answered
	mu    sync.Mutex
	calls map[limit.Class]int // guarded by mu
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.calls[endpoint.ClassOf(r.URL.Path)]++
	s.mu.Unlock()
	if s.other == nil || !s.other(w, r) {
		s.next.ServeHTTP(w, r)
	}
}

// deepLook runs doctor --deep on the built-in service, where other does not answer.
func deepLook(t *testing.T, other func(w http.ResponseWriter, r *http.Request) bool) (map[string]Finding, bool, *service) {
	t.Helper()
	svc, err := sandbox.Open(t.Context(), sandbox.Options{Operations: 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = svc.Close() })
	s := &service{next: svc.Handler(), other: other, calls: map[limit.Class]int{}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	file := filepath.Join(dir, "opdeck.toml")
	text := fmt.Sprintf("[contexts.t]\nbase_url = %q\nlogin = %q\npassword_env = \"PW\"\n", srv.URL, sandbox.DefaultLogin)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	found := map[string]Finding{}
	well := Doctor(t.Context(), Options{ConfigFlag: file, StateFlag: filepath.Join(dir, "state"), Getenv: func(name string) string {
		return map[string]string{"PW": sandbox.DefaultPassword, "HOME": dir}[name]
	}}, nil, Deep, func(f Finding) { found[f.Name] = f })
	return found, well, s
}

func say(w http.ResponseWriter, status int, body string) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
	return true
}

// TestDeepOnTheUsualService: nothing is wrong, and it costs what the help says.
func TestDeepOnTheUsualService(t *testing.T) {
	found, well, s := deepLook(t, nil)
	if !well {
		t.Errorf("something is wrong: %+v", found)
	}
	for _, name := range deepNames {
		if f, ok := found[name]; !ok || f.Health == Failed {
			t.Errorf("%s: %+v", name, f)
		}
	}
	for class, most := range map[limit.Class]int{limit.Billing: 2, limit.Customer: 4, limit.General: 3, limit.Login: 1} { // the clock's request counts as a general one
		if n := s.calls[class]; n == 0 || n > most {
			t.Errorf("%d %s calls, want 1 to %d", n, class, most)
		}
	}
	if !strings.Contains(found["operations"].Text, "30 read of 30") || !strings.Contains(found["operations"].Text, "newest first") {
		t.Error(found["operations"].Text)
	}
}

// TestDeepOnAContraryService: unreadable answers are failures that list their keys; no value of an answer is
// reported.
func TestDeepOnAContraryService(t *testing.T) {
	found, well, s := deepLook(t, func(w http.ResponseWriter, r *http.Request) bool {
		switch path := r.URL.Path; {
		case path == "/v2/billing/operation":
			return say(w, 200, `{"list":[{"general":{"opid":"SECRET-1","createdAt":"2026-01-01T00:00:00Z","status":"SECRETIVE","customer":{"cuid":"SECRET-C"}}},{"general":{"opid":"SECRET-2","createdAt":"2026-01-02T00:00:00Z"}},{}],"total":500}`)
		case path == "/v2/billing/operation/SECRET-1":
			return say(w, 200, `{"rows":"SECRET"}`)
		case path == "/v2/customer":
			return say(w, 500, `{"error":"SECRET is down"}`)
		case path == "/v2/customer/SECRET-C" && r.Method == http.MethodGet:
			return say(w, 405, `{}`)
		case path == "/v2/customer/SECRET-C":
			return say(w, 200, `{"customer":{"cuid":"SECRET-C","name":7}}`)
		case strings.HasSuffix(path, "/file"):
			return say(w, 200, `{"meta":{"total":"9"},"items":[]}`)
		case strings.HasSuffix(path, "/application"):
			return say(w, 404, `{}`)
		case path == "/v2/hook/get":
			return say(w, 200, `<html>`)
		}
		return false
	})
	if well {
		t.Error("all is said to be well")
	}
	if got := strings.Join(found["settings"].Settings, "\n"); !strings.Contains(got, `list_field = "list"`) ||
		!strings.Contains(got, "# status_words = {") {
		t.Errorf("settings to paste: %s", got)
	}
	for name, want := range map[string]struct {
		health Health
		words  []string
	}{
		"operations":  {Warned, []string{"oldest first", "under “list”", `list_field = "list"`, "under “general”", "“total”", "3 records of 500, though 100", "1 of 3 records have no identifier", "status_words", "paymentType"}},
		"operation":   {Failed, []string{"“rows” (text)"}},
		"customers":   {Failed, []string{"500"}},
		"customer":    {Warned, []string{"POST /v2/customer/{}", "name: number instead of text"}},
		"documents":   {Failed, []string{"total of 9", "“items” (array)"}},
		"application": {Skipped, []string{"no application"}},
		"webhooks":    {Failed, []string{"could not be understood"}},
	} {
		f := found[name]
		all := f.Text + " " + f.Hint + " " + strings.Join(f.Differs, " ")
		for _, w := range want.words {
			if !strings.Contains(all, w) {
				t.Errorf("%s: %q does not say %q", name, all, w)
			}
		}
		if f.Health != want.health {
			t.Errorf("%s is %s, want %s", name, f.Health, want.health)
		}
		if strings.Contains(all, "SECRET") {
			t.Errorf("%s shows a value: %s", name, all)
		}
	}
	if n := s.calls[limit.Customer]; n > 7 { // one list is tried twice
		t.Errorf("%d customer calls", n)
	}
}

// TestDeepNamesListsWithACursor: of the lists of customers and documents it says that --page asks by number.
func TestDeepNamesListsWithACursor(t *testing.T) {
	const more = `,"nextCursor":"abc"`
	found, _, _ := deepLook(t, func(w http.ResponseWriter, r *http.Request) bool {
		switch path := r.URL.Path; {
		case path == "/v2/billing/operation":
			return say(w, 200, `{"items":[{"opid":"o-1","customer":{"cuid":"C-1"}}]`+more+`}`)
		case path == "/v2/customer":
			return say(w, 200, `{"items":[{"cuid":"C-1"}]`+more+`}`)
		case strings.HasSuffix(path, "/file"):
			return say(w, 200, `{"items":[{"id":"f-1"}]`+more+`}`)
		}
		return false
	})
	for name, want := range map[string]bool{"operations": false, "customers": true, "documents": true} {
		if said := strings.Join(found[name].Differs, "; "); strings.Contains(said, "--page of a command") != want {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// TestDeepWithoutASession: what cannot be checked is skipped and reported.
func TestDeepWithoutASession(t *testing.T) {
	found, well, s := deepLook(t, func(w http.ResponseWriter, r *http.Request) bool {
		return r.URL.Path == "/v2/auth/login" && say(w, 401, `{"error":"Invalid login or password"}`)
	})
	if well || found["operations"].Health != Skipped || s.calls[limit.Billing] != 0 {
		t.Errorf("%v %+v %v", well, found["operations"], s.calls)
	}
}
