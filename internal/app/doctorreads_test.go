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

// examine runs doctor --login on the built-in service, where other does not answer.
func examine(t *testing.T, other func(w http.ResponseWriter, r *http.Request) bool) (map[string]Finding, bool, *service) {
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
	}}, nil, true, func(f Finding) {
		if _, twice := found[f.Name]; !twice {
			found[f.Name] = f
		}
	})
	return found, well, s
}

func say(w http.ResponseWriter, status int, body string) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
	return true
}

// TestReadsOfTheUsualService: nothing is wrong, and it costs a call of each class.
func TestReadsOfTheUsualService(t *testing.T) {
	found, well, s := examine(t, nil)
	if !well || found["operations"].Text != "30 records read" {
		t.Errorf("something is wrong: %+v", found)
	}
	for _, name := range lists {
		if f := found[name]; f.Health != Healthy {
			t.Errorf("%s: %+v", name, f)
		}
	}
	for class, n := range map[limit.Class]int{limit.Billing: 1, limit.Customer: 1, limit.Account: 1, limit.General: 2,
		limit.Login: 1} { // the clock's request counts as a general one
		if s.calls[class] != n {
			t.Errorf("%d %s calls, want %d", s.calls[class], class, n)
		}
	}
}

// TestReadsOfAContraryService: what was not understood is counted, with its setting; unreadable answers are failures
// that list their keys; no value of an answer is reported.
func TestReadsOfAContraryService(t *testing.T) {
	found, well, _ := examine(t, func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/v2/billing/operation":
			return say(w, 200, `{"list":[{"item":{"isVisible":"SECRET","opid":"SECRET-1","status":"SECRETIVE",
				"sourceAmount":{"sum":{"currencyCode":"EUR","value":"SECRET"}}}},{"item":{"opid":"SECRET-2"}},{}],"total":500}`)
		case "/v2/customer":
			return say(w, 200, `{"meta":{"total":"9"},"rows":"SECRET"}`)
		case "/v2/account":
			return say(w, 403, `{"error":"SECRET is not for you"}`)
		}
		return false
	})
	if well {
		t.Error("all is said to be well")
	}
	for name, want := range map[string]struct {
		health Health
		words  []string
	}{
		"operations": {Warned, []string{"3 records read", "1 has a status word", "1 has no status", "status_words", "1 has an amount", "“value” (text)",
			"amount_ignore", "1 has no identifier", "1 has no sourceAmount", "1 has the member isVisible of another type (text)"}},
		"customers": {Failed, []string{"total of 9", "“rows” (text)", "list_field"}},
		"accounts":  {Skipped, nil},
	} {
		f := found[name]
		all := f.Text + " " + f.Hint
		for _, w := range want.words {
			if !strings.Contains(all, w) {
				t.Errorf("%s: %q does not say %q", name, all, w)
			}
		}
		if f.Health != want.health {
			t.Errorf("%s is %s, want %s: %s", name, f.Health, want.health, all)
		}
		if strings.Contains(all, "SECRET") {
			t.Errorf("%s shows a value: %s", name, all)
		}
	}
}

// TestReadsWithoutASession: what cannot be checked is skipped and reported.
func TestReadsWithoutASession(t *testing.T) {
	found, well, s := examine(t, func(w http.ResponseWriter, r *http.Request) bool {
		return r.URL.Path == "/v2/auth/login" && say(w, 401, `{"error":"Invalid login or password"}`)
	})
	if well || found["operations"].Health != Skipped || s.calls[limit.Billing] != 0 {
		t.Errorf("%v %+v %v", well, found["operations"], s.calls)
	}
}
