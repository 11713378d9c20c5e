package serve_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
	"opdeck/internal/cli"
)

// childKey names the folder of the server that this process is to be.
const childKey = "OPDECK_TEST_SERVE"

// verboseKey makes such a server tell its log everything.
const verboseKey = "OPDECK_TEST_VERBOSE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childKey); dir != "" {
		go tidyOnWord()
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		args := arguments(dir)
		if os.Getenv(verboseKey) != "" {
			args = append(args, "--verbose")
		}
		os.Exit(cli.Run(ctx, cli.Env{Args: args, In: strings.NewReader(""), Out: os.Stdout, Err: os.Stderr, Version: "test", Getenv: os.Getenv}))
	}
	code := m.Run()
	if code == 0 {
		code = leaks()
	}
	os.Exit(code)
}

// leaks fails when a goroutine outlives the servers. A timer that a view has set
// cannot be stopped and runs out soon after; nothing is excused.
func leaks() (code int) {
	var err error
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if err = goleak.Find(); err == nil {
			return 0
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// place is opdeck serve on the built-in service.
type place struct {
	t                      testing.TB
	dir                    string
	ssh, webhooks, metrics string
	out, errs              *buffer
	stop                   func() int
	people                 map[string]gossh.Signer
	shared                 map[api.Role]*gossh.Client // for commands
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *buffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *buffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newKey(t testing.TB, path string) gossh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := gossh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := gossh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const secret = "0123456789abcdef-not-a-real-one-ABCDEF"

// built is what the server says that it was built from.
var built = cli.Build{Release: "0.0.0", Commit: "0123456789abcdef0123456789abcdef01234567", Built: "2026-01-02T03:04:05Z"}

func arguments(dir string) []string {
	return []string{"serve", "--config", filepath.Join(dir, "config.toml"), "--state", filepath.Join(dir, "state"), "--log-file", filepath.Join(dir, "log")}
}

// begin starts the server as the command does and waits until it listens.
func begin(t testing.TB, also string) *place {
	t.Helper()
	p := prepare(t, also)
	p.start()
	return p
}

// start is begin for a place that is prepared.
func (p *place) start() {
	t := p.t
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int, 1)
	go func() {
		done <- cli.Run(ctx, cli.Env{Args: arguments(p.dir), In: strings.NewReader(""), Out: p.out, Err: p.errs, Version: "test", Build: built,
			Getenv: func(name string) string {
				if name == "HOOK_SECRET" {
					return secret
				}
				return ""
			}})
	}()
	p.stop = sync.OnceValue(func() int { http.DefaultClient.CloseIdleConnections(); cancel(); return <-done })
	t.Cleanup(func() { p.stop() })
	p.listens()
}

// prepare writes config and keys.
func prepare(t testing.TB, also string) *place {
	t.Helper()
	p := &place{t: t, dir: t.TempDir(), out: &buffer{}, errs: &buffer{}, people: map[string]gossh.Signer{}, shared: map[api.Role]*gossh.Client{}}
	newKey(t, p.file("host"))
	keys := ""
	for i := range crowd + len(api.Roles) {
		role := api.Roles[i%len(api.Roles)]
		name := "p-" + string(role)
		if i >= len(api.Roles) {
			name = fmt.Sprintf("p-%d", i-len(api.Roles))
		}
		p.people[name] = newKey(t, p.file(name))
		keys += fmt.Sprintf("name=%q,role=%q %s", name, role, gossh.MarshalAuthorizedKey(p.people[name].PublicKey()))
	}
	p.write("keys", keys)
	p.write("config.toml", fmt.Sprintf(`
[store]
url = "sqlite"
[contexts.box]
sandbox = true
[limits]
policy = "warn"
[ssh]
listen = "127.0.0.1:0"
host_key = %q
authorized_keys = %q
[webhooks]
listen = %q
verify = "header"
header = "X-Secret"
secret_env = "HOOK_SECRET"
[serve]
metrics = ":0"
%s`, p.file("host"), p.file("keys"), freePort(t), also))
	return p
}

// listens waits until the server listens and learns where.
func (p *place) listens() {
	t := p.t
	t.Helper()
	soon(t, "the server listens", func() bool { return strings.Contains(p.out.String(), "ctrl+c ends") || p.errs.String() != "" })
	for _, line := range strings.Split(p.out.String(), "\n") {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		switch f[0] {
		case "ssh":
			p.ssh = strings.TrimSuffix(f[1], ",")
		case "webhooks":
			p.webhooks = strings.TrimSuffix(f[1], ",")
		case "metrics":
			p.metrics = f[1]
		}
	}
	if p.ssh == "" || p.webhooks == "" || p.metrics == "" {
		t.Fatalf("it said %q and %q", p.out, p.errs)
	}
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (p *place) file(name string) string { return filepath.Join(p.dir, name) }

func (p *place) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(p.file(name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func soon(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not in time: %s", what)
}

func (p *place) login(role api.Role) *gossh.Client {
	p.t.Helper()
	return p.loginAs("p-" + string(role))
}

func (p *place) loginAs(name string) *gossh.Client {
	p.t.Helper()
	c, err := gossh.Dial("tcp", p.ssh, &gossh.ClientConfig{User: name, Auth: []gossh.AuthMethod{gossh.PublicKeys(p.people[name])},
		HostKeyCallback: gossh.InsecureIgnoreHostKey(), Timeout: 10 * time.Second})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = c.Close() })
	return c
}

// run runs one command as somebody of a role.
func (p *place) run(role api.Role, in, command string) (out, errs string, code int) {
	p.t.Helper()
	if p.shared[role] == nil {
		p.shared[role] = p.login(role)
	}
	s, err := p.shared[role].NewSession()
	if err != nil {
		p.t.Fatal(err)
	}
	defer s.Close()
	var o, e bytes.Buffer
	s.Stdout, s.Stderr, s.Stdin = &o, &e, strings.NewReader(in)
	err = s.Run(command)
	if exit, is := err.(*gossh.ExitError); is {
		code = exit.ExitStatus()
	} else if err != nil {
		p.t.Fatalf("%s: %v", command, err)
	}
	return o.String(), e.String(), code
}

// opid is some operation of the sample data with an unlocked document, and that.
func (p *place) opid() (opid, guid string) {
	p.t.Helper()
	opid, guid, _ = p.sample()
	return opid, guid
}

// sample is opid with the operation's customer.
func (p *place) sample() (opid, guid, cuid string) {
	p.t.Helper()
	out, errs, code := p.run(api.Admin, "", "operation list --live --limit 100 -o json")
	if code != 0 {
		p.t.Fatal(errs)
	}
	var list struct {
		Items []struct {
			OPID, Status string
			Customer     struct{ CUID string }
			Documents    []struct {
				GUID   string
				IsLock bool
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		p.t.Fatal(err)
	}
	for _, op := range list.Items {
		for _, d := range op.Documents {
			if op.Status == "PENDING" && !d.IsLock {
				return op.OPID, d.GUID, op.Customer.CUID
			}
		}
	}
	p.t.Fatal("no operation with a document")
	return "", "", ""
}

// The commands over SSH are those of the program, with the role of the key.
func TestCommandsOverSSH(t *testing.T) {
	t.Parallel()
	p := begin(t, "")
	opid, guid := p.opid()
	out, errs, code := p.run(api.Viewer, "", "operation get "+opid+" -o json")
	var one struct{ Item struct{ OPID string } }
	if err := json.Unmarshal([]byte(out), &one); err != nil || one.Item.OPID != opid || code != 0 {
		t.Errorf("operation get: %q %q, exit %d", out, errs, code)
	}
	out, _, code = p.run(api.Viewer, opid+"\n"+opid+"\n", "operation get - -o jsonl")
	if strings.Count(out, "\n") != 2 || code != 0 {
		t.Errorf("operation get -: %q, exit %d", out, code)
	}

	remove := "document remove " + opid + " " + guid
	for _, role := range []api.Role{api.Viewer, api.Analyst, api.OnCall} {
		if _, errs, code := p.run(role, "", remove+" --yes"); code != 5 || !strings.Contains(errs, "Your role") {
			t.Errorf("%s removed: %q, exit %d", role, errs, code)
		}
	}
	if _, errs, code := p.run(api.Operator, "", remove); code != 2 {
		t.Errorf("a write without --yes: %q, exit %d", errs, code)
	}
	if _, errs, code := p.run(api.Operator, "", remove+" --yes"); code != 0 {
		t.Errorf("an operator's removal: %q, exit %d", errs, code)
	}
	if _, errs, code := p.run(api.Operator, "", "session refresh --yes"); code != 5 {
		t.Errorf("an operator's refresh: %q, exit %d", errs, code)
	}
	if _, errs, code := p.run(api.OnCall, "", "session refresh --yes"); code != 0 {
		t.Errorf("the refresh of who is on call: %q, exit %d", errs, code)
	}
	if _, errs, code := p.run(api.Operator, "", "doctor"); code != 5 || !strings.Contains(errs, "oncall, admin") {
		t.Errorf("an operator's doctor: %q, exit %d", errs, code)
	}

	// The trail has the person, the key and the session of each act.
	out, errs, code = p.run(api.Admin, "", "audit list -o json --limit 200")
	if code != 0 || !strings.Contains(out, "p-operator") || !strings.Contains(out, "SHA256:") || !strings.Contains(out, "document.remove") {
		t.Errorf("the trail: %.300q %q, exit %d", out, errs, code)
	}
	if code := p.stop(); code != 0 {
		t.Errorf("the server's exit is %d: %s", code, p.errs)
	}
}

// What is about the server and its files is out of reach, for an admin too.
func TestNotOverSSH(t *testing.T) {
	t.Parallel()
	p := begin(t, "")
	p.write("trap", "content of the server")
	trap := p.file("trap")
	for _, command := range []string{
		"serve", "opdeck serve", "opdeck", "opdeck opdeck version", "sandbox", "config show", "config init", "completion bash", "man /tmp", "session keep", "event listen", "event forward --to http://127.0.0.1:1",
		"event replay x --to http://127.0.0.1:1", "__complete operation", "bash -c id", "--config " + p.file("config.toml") + " limits", "limits --state " + p.dir,
		"limits -c other", "limits --context=other", "limits --log-file " + p.file("new"), "limits --read-only", "limits --verbose",
		"document upload " + trap + " --customer c", "document upload " + trap + " --name f.pdf --customer c", "document replace o d " + trap, "document download c d " + p.file("new"),
		"compliance share c --token-file " + trap, "customer set-application c " + trap, "operation export -o csv " + p.file("new"), "event send " + trap,
		"audit export " + p.file("new"), "audit verify --file " + trap, "audit verify --evidence " + trap, "hook set --secret-file " + trap, "",
	} {
		out, errs, code := p.run(api.Admin, "", command)
		if code == 0 || strings.Contains(out+errs, "content of the server") {
			t.Errorf("%q: %q %q, exit %d", command, out, errs, code)
		}
	}
	if _, err := os.Stat(p.file("new")); err == nil {
		t.Error("a file was made on the server")
	}
	if out, errs, code := p.run(api.Viewer, "", "version -o json"); code != 0 || !strings.Contains(out, `"version": "test"`) || !strings.Contains(out, built.Commit) || !strings.Contains(out, built.Built) {
		t.Errorf("version: %q %q, exit %d", out, errs, code)
	}
	if out, _, _ := p.run(api.Viewer, "", "version"); !strings.HasPrefix(out, "opdeck test, commit "+built.Commit+", built "+built.Built+", go") {
		t.Errorf("version: %q", out)
	}
	for _, command := range []string{"help", "help operation", "--help", "operation --help", "operation get --help", "version", "limits -o json", "doctor", "opdeck version", "opdeck operation list --limit 1"} {
		if out, errs, code := p.run(api.Admin, "", command); code != 0 || out == "" {
			t.Errorf("%q: %q %q, exit %d", command, out, errs, code)
		}
	}
}

// window is a console over SSH.
type window struct {
	*gossh.Session
	in  io.WriteCloser
	out *buffer
}

func (p *place) console(c *gossh.Client) *window {
	p.t.Helper()
	s, err := c.NewSession()
	if err != nil {
		p.t.Fatal(err)
	}
	w := &window{Session: s, out: &buffer{}}
	s.Stdout, s.Stderr = w.out, w.out
	if w.in, err = s.StdinPipe(); err != nil {
		p.t.Fatal(err)
	}
	if err := s.RequestPty("xterm-256color", 30, 120, nil); err != nil {
		p.t.Fatal(err)
	}
	if err := s.Shell(); err != nil {
		p.t.Fatal(err)
	}
	soon(p.t, "the first frame: "+w.out.String(), func() bool {
		return strings.Contains(w.out.String(), "SANDBOX") || strings.Contains(w.out.String(), "TEST")
	})
	return w
}

// The console itself, over SSH.
func TestConsoleOverSSH(t *testing.T) {
	t.Parallel()
	p := begin(t, "")
	for _, role := range []api.Role{api.Viewer, api.Operator} {
		w := p.console(p.login(role))
		soon(t, "the person and the role", func() bool { return strings.Contains(w.out.String(), "p-"+string(role)) })
		_, _ = io.WriteString(w.in, "\x03")
		if err := w.Wait(); err != nil {
			t.Errorf("leaving with ctrl+c: %v: %.300q", err, w.out.String())
		}
		if !strings.Contains(w.out.String(), "\x1b[?1049l") {
			t.Error("the terminal was not restored")
		}
	}
	for _, role := range []api.Role{api.Viewer, api.Operator} { // the end of the server, with people inside
		p.console(p.login(role))
	}
	began := time.Now()
	if code := p.stop(); code != 0 || time.Since(began) > 10*time.Second {
		t.Errorf("the end took %s, exit %d: %s", time.Since(began), code, p.errs)
	}
}

func TestWebhooksAndMetrics(t *testing.T) {
	t.Parallel()
	p := begin(t, "")
	opid, _ := p.opid()
	body := fmt.Sprintf(`{"hook_id":"6f1c1f0e-8a4b-4c8e-9d4f-0c6f5f6a7b8c","hook_type":1,"Data":{"Operation":{"opid":%q,"status":2,"type":1}}}`, opid)
	for _, with := range []string{secret, "wrong"} {
		req, err := http.NewRequest(http.MethodPost, "http://"+p.webhooks, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Secret", with)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if want := map[bool]int{true: 200, false: 401}[with == secret]; res.StatusCode != want {
			t.Errorf("a webhook was answered %d, want %d", res.StatusCode, want)
		}
	}
	if !strings.HasPrefix(p.metrics, "http://127.0.0.1:") {
		t.Errorf("metrics without a host listen at %s", p.metrics)
	}
	text := p.scrape()
	for _, want := range []string{
		`opdeck_ssh_sessions{kind="console"} 0`, `opdeck_ssh_logins_total{with="key"} 1`, `opdeck_budget_room{class="billing"}`,
		`opdeck_budget_waiting{class="login"} 0`, `opdeck_budget_throttled{class="general"} 0`, `opdeck_token_remaining_seconds{token="access"}`,
		`opdeck_rotations_total{kind="login",outcome="ok"} 1`, `opdeck_calls_total{class="billing",kind="ok"}`, `opdeck_hook_events_total{as="new"} 1`,
		`opdeck_hook_events_total{as="quarantined"} 0`, `opdeck_hook_unauthorized_total{reason=`, `opdeck_index_operations`, `opdeck_audit_healthy 1`,
		`opdeck_build_info{version="test"} 1`, `opdeck_session_state{state="live"} 1`, `opdeck_call_seconds_bucket`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
	for _, bad := range []string{opid, "p-admin", "machine@", secret, "127.0.0.1", "SHA256"} {
		if strings.Contains(text, bad) {
			t.Errorf("the metrics hold %q", bad)
		}
	}
	for _, path := range []string{"/", "/debug/pprof/", "/metrics/x"} {
		res, err := http.Get(strings.TrimSuffix(p.metrics, "/metrics") + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("%s is answered %d", path, res.StatusCode)
		}
	}
}

func (p *place) scrape() string {
	p.t.Helper()
	res, err := http.Get(p.metrics)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

func TestNothingToServe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct{ name, config, want string }{
		{"nothing", "", "asks for nothing to be served"},
		{"no host key", "[ssh]\nlisten=\"127.0.0.1:0\"\nhost_key=\"" + dir + "/none\"\nauthorized_keys=\"" + dir + "/none\"\n", "no such file"},
		{"port in use", "[serve]\nmetrics=\"256.0.0.1:1\"\n", "metrics"},
	} {
		path := filepath.Join(dir, "c.toml")
		if err := os.WriteFile(path, []byte("[store]\nurl=\"memory\"\n"+c.config), 0o600); err != nil {
			t.Fatal(err)
		}
		var errs bytes.Buffer
		code := cli.Run(t.Context(), cli.Env{Args: []string{"serve", "--config", path, "--state", filepath.Join(dir, "state")}, In: strings.NewReader(""),
			Out: io.Discard, Err: &errs, Getenv: func(string) string { return "" }})
		if code != 2 || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: exit %d, %s", c.name, code, &errs)
		}
	}
}
