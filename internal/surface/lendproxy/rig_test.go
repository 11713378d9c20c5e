package lendproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/app"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/lending"
	"opdeck/internal/sandbox"
	"opdeck/internal/sandbox/faulty"
)

// marker is in every token of the service.
const marker = "LENTMARK7"

// rig is a lender before a built-in service on TCP.
type rig struct {
	t      testing.TB
	svc    *faulty.Service
	app    *app.App
	lender *Lender
	url    string // of the port
	socket string
	stop   func()

	badLogin bool // the service refuses the password; set before the first call

	mu    sync.Mutex
	twist func(next http.Handler, w http.ResponseWriter, r *http.Request) // guarded by mu; nil: the service as it is
}

func keyOf(name string) string { return "key-of-" + name + "-0123456789-abcdef" }

// newRig opens a service and a lender with a borrower for each role, and what more
// says.
func newRig(t testing.TB, more string) *rig {
	t.Helper()
	r := &rig{t: t}
	var err error
	if r.svc, err = faulty.Open(t.Context(), faulty.Options{Options: sandbox.Options{Operations: 60}, Style: faulty.Style{Marker: marker}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.svc.Close() })
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		twist := r.twist
		r.mu.Unlock()
		if r.badLogin && strings.HasPrefix(req.URL.Path, "/v2/auth/") {
			w.WriteHeader(401)
			_, _ = io.WriteString(w, `{"error":"Invalid login or password"}`)
			return
		}
		if twist != nil && !strings.HasPrefix(req.URL.Path, "/v2/auth/") {
			twist(r.svc.Handler(), w, req)
			return
		}
		r.svc.Handler().ServeHTTP(w, req)
	}))
	t.Cleanup(srv.Close)
	env := map[string]string{"PW": sandbox.DefaultPassword, "KEY_slow": keyOf("slow")}
	text := fmt.Sprintf("[contexts.t]\nbase_url = %q\nlogin = %q\npassword_env = \"PW\"\nAPPROVAL\n[writes]\nsettle_wait = \"0s\"\n[limits]\nmax_wait = \"20s\"\nper_minute = { login = 1000, refresh = 1000, account = 10000, customer = 10000, billing = 10000, general = 10000 }\n", srv.URL, sandbox.DefaultLogin)
	for _, role := range api.Roles {
		name := string(role)
		env["KEY_"+name] = keyOf(name)
		text += fmt.Sprintf("[lend.borrowers.%s]\nkey_env = \"KEY_%s\"\nrole = %q\n", name, name, name)
	}
	for _, role := range []api.Role{api.Analyst, api.Admin} {
		name := string(role) + "-reveal"
		env["KEY_"+name] = keyOf(name)
		text += fmt.Sprintf("[lend.borrowers.%s]\nkey_env = \"KEY_%s\"\nrole = %q\nreveal = true\n", name, name, role)
	}
	approval, more, _ := strings.Cut(more, "|")
	text = strings.Replace(text, "APPROVAL", approval, 1) + more
	dir := t.TempDir()
	file := filepath.Join(dir, "opdeck.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string {
		if name == "HOME" {
			return dir
		}
		return env[name]
	}
	if r.app, err = app.Open(t.Context(), app.Options{ConfigFlag: file, StateFlag: filepath.Join(dir, "state"), Getenv: getenv}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.app.Close() })
	keys, err := r.app.BorrowerKeys(getenv)
	if err != nil {
		t.Fatal(err)
	}
	r.socket = filepath.Join(dir, "s.sock")
	if r.lender, err = Open(t.Context(), r.app, Options{Socket: r.socket, Listen: "127.0.0.1:0", Keys: keys}); err != nil {
		t.Fatal(err)
	}
	r.url = "http://" + r.lender.Addr()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.lender.Serve(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

func (r *rig) set(twist func(next http.Handler, w http.ResponseWriter, req *http.Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.twist = twist
}

// answer is what a borrower got.
type answer struct {
	status int
	header http.Header
	body   string
	err    lending.ErrorBody
	filed  string // number of a request for approval
}

// call makes a borrower's call.
func (r *rig) call(borrower, method, path, body string) answer {
	r.t.Helper()
	return r.send(http.DefaultClient, method, r.url+path, body, map[string]string{lending.HeaderKey: keyOf(borrower)})
}

func (r *rig) send(client *http.Client, method, url, body string, header map[string]string) answer {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		r.t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	a := answer{status: resp.StatusCode, header: resp.Header, body: string(b)}
	var said lending.Body
	if json.Unmarshal(b, &said) == nil {
		a.err, a.filed = said.Error, said.Approval
	}
	return a
}

// onSocket is a client of the Unix socket.
func (r *rig) onSocket() *http.Client {
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", r.socket)
		}}}
}

// operation is one with a document that is locked, or is not.
func (r *rig) operation(locked bool) (op api.Operation, doc api.Document) {
	r.t.Helper()
	ctx := api.WithActor(r.t.Context(), api.Actor{Name: "keeper", Role: api.Admin})
	p, err := endpoint.Do(ctx, r.app.Client, endpoint.ListOperations, api.OperationQuery{Size: 60})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, op := range p.Items {
		for _, d := range op.Documents {
			if d.Lock.Is() == locked && string(op.Status) == "PENDING" {
				return op, d
			}
		}
	}
	r.t.Fatal("no such operation")
	return op, doc
}

// calls is how often the service was called at an endpoint.
func (r *rig) calls(name string) int64 {
	r.t.Helper()
	s, err := r.svc.Stats(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return s.Calls[name]
}

// revealed are the records of answers that were not masked.
func (r *rig) revealed() []audit.Entry {
	r.t.Helper()
	ctx := api.WithActor(r.t.Context(), api.Actor{Name: "keeper", Role: api.Admin})
	found, err := r.app.Audit.Reader.Find(ctx, audit.Query{Event: audit.EventReveal, Limit: 100})
	if err != nil {
		r.t.Fatal(err)
	}
	return found.Entries
}
