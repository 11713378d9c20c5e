package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/internal/e2e/lockedbuffer"
	"opdeck/internal/surface/cli"
)

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
	if _, errs, code := p.run(api.Operator, "", "session refresh --yes --yes"); code != 5 {
		t.Errorf("an operator's refresh: %q, exit %d", errs, code)
	}
	if _, errs, code := p.run(api.OnCall, "", "session refresh --yes --yes"); code != 0 {
		t.Errorf("the refresh of who is on call: %q, exit %d", errs, code)
	}
	if _, errs, code := p.run(api.Operator, "", "doctor"); code != 5 || !strings.Contains(errs, "oncall, admin") {
		t.Errorf("an operator's doctor: %q, exit %d", errs, code)
	}

	// The trail has the person, the key and the session of each act.
	out, errs, code = p.run(api.Admin, "", "audit list -o json --limit 200")
	if code != 0 || !strings.Contains(out, "p-operator") || !strings.Contains(out, "SHA256:") ||
		!strings.Contains(out, "document.remove") {
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
		"serve", "opdeck serve", "opdeck", "opdeck opdeck version", "sandbox", "config show", "config init",
		"completion bash", "man /tmp", "session keep",
		"__complete operation", "bash -c id",
		"--config " + p.file("config.toml") + " limits", "limits --state " + p.dir,
		"limits -c other", "limits --context=other", "limits --log-file " + p.file("new"), "limits --read-only",
		"limits --verbose",
		"document upload --yes " + trap + " --customer c", "document upload " + trap + " --name f.pdf --customer c",
		"document replace o d " + trap, "document download c d " + p.file("new"),
		"compliance share --yes c --token-file " + trap, "customer set-application c " + trap,
		"operation export -o csv " + p.file("new"), "operation report " + p.file("new"),
		"audit export " + p.file("new"),
		"audit verify --against " + trap, "audit verify --against -", "audit verify " + trap,
		"audit verify --pub " + trap, "audit verify --file " + trap,
		"hook set --secret-file " + trap, "",
	} {
		out, errs, code := p.run(api.Admin, "", command)
		if code == 0 || strings.Contains(out+errs, "content of the server") {
			t.Errorf("%q: %q %q, exit %d", command, out, errs, code)
		}
	}
	if _, err := os.Stat(p.file("new")); err == nil {
		t.Error("a file was made on the server")
	}
	if out, errs, code := p.run(api.Viewer, "", "version -o json"); code != 0 ||
		!strings.Contains(out, `"version": "test"`) || !strings.Contains(out, built.Commit) ||
		!strings.Contains(out, built.Built) {
		t.Errorf("version: %q %q, exit %d", out, errs, code)
	}
	if out, _, _ := p.run(api.Viewer, "", "version"); !strings.HasPrefix(out,
		"opdeck test, commit "+built.Commit+", built "+built.Built+", go") {
		t.Errorf("version: %q", out)
	}
	for _, command := range []string{"help", "help operation", "--help", "operation --help", "operation get --help",
		"version", "limits -o json", "doctor", "opdeck version", "opdeck operation list --limit 1"} {
		if out, errs, code := p.run(api.Admin, "", command); code != 0 || out == "" {
			t.Errorf("%q: %q %q, exit %d", command, out, errs, code)
		}
	}
}

// window is a console over SSH.
type window struct {
	*gossh.Session
	in  io.WriteCloser
	out *lockedbuffer.Buffer
}

func (p *place) console(c *gossh.Client) *window {
	p.t.Helper()
	s, err := c.NewSession()
	if err != nil {
		p.t.Fatal(err)
	}
	w := &window{Session: s, out: &lockedbuffer.Buffer{}}
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
	apitest.Soon(p.t, "the first frame: "+w.out.String(), func() bool {
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
		apitest.Soon(t, "the person and the role", func() bool { return strings.Contains(w.out.String(), "p-"+string(role)) })
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
	if code := p.stop(); code != 0 || time.Since(began) > 20*time.Second {
		t.Errorf("the end took %s, exit %d: %s", time.Since(began), code, p.errs)
	}
}

func TestWebhooksAndMetrics(t *testing.T) {
	t.Parallel()
	p := begin(t, "")
	opid, _ := p.opid()
	body := fmt.Sprintf(`{"hook_id":"6f1c1f0e-8a4b-4c8e-9d4f-0c6f5f6a7b8c","hook_type":1,`+
		`"Data":{"Operation":{"opid":%q,"status":2,"type":1}}}`, opid)
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
	for range 1000 { // the event is merged after it was acknowledged
		if strings.Contains(text, "opdeck_hook_behind 0") {
			break
		}
		time.Sleep(10 * time.Millisecond)
		text = p.scrape()
	}
	for _, want := range []string{
		`opdeck_budget_waiting{class="login"} 0`, `opdeck_budget_throttled{class="general"} 0`,
		`opdeck_hook_turned_away_total{reason="malformed"} 0`, `opdeck_hook_queued 0`, `opdeck_hook_behind 0`,
		`opdeck_audit_checkpoint_healthy 1`, `opdeck_audit_uncovered_records`, `opdeck_index_age_seconds`,
		`opdeck_approvals_waiting{state="open"} 0`, `opdeck_store_readable{part="session"} 1`,
		`opdeck_verdict{part="store"} 1`, `opdeck_verdict{part="session"} 1`, `opdeck_verdict{part="audit"} 1`,
		`opdeck_build_info{version="test"} 1`, `opdeck_session_state{state="live"} 1`,
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
	for path, want := range map[string]int{"/": 404, "/debug/pprof/": 404, "/metrics/x": 404, "/healthz": 200} {
		res, err := http.Get(strings.TrimSuffix(p.metrics, "/metrics") + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s is answered %d, not %d", path, res.StatusCode, want)
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
		{"nothing", "", "Nothing to serve"},
		{"no host key", "[ssh]\nlisten=\"127.0.0.1:0\"\nhost_key=\"" + dir + "/none\"\nauthorized_keys=\"" + dir +
			"/none\"\n", "no such file"},
		{"port in use", "[serve]\nmetrics=\"256.0.0.1:1\"\n", "metrics"},
	} {
		path := filepath.Join(dir, "c.toml")
		if err := os.WriteFile(path, []byte("[store]\nurl=\"memory\"\n"+c.config), 0o600); err != nil {
			t.Fatal(err)
		}
		var errs bytes.Buffer
		code := cli.Run(t.Context(), cli.Env{Args: []string{"serve", "--config", path, "--state",
			filepath.Join(dir, "state")}, In: strings.NewReader(""),
			Out: io.Discard, Err: &errs, Getenv: func(string) string { return "" }})
		if code != 2 || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: exit %d, %s", c.name, code, &errs)
		}
	}
}

// TestServeNeedsItsAuditKey: a host without the key of its trail starts no server, and the error names the command that
// makes one.
func TestServeNeedsItsAuditKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, state := filepath.Join(dir, "c.toml"), filepath.Join(dir, "state")
	if err := os.WriteFile(path, []byte("[contexts.box]\nsandbox = true\n[serve]\nmetrics = \"127.0.0.1:0\"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (code int, errs string) {
		var b bytes.Buffer
		code = cli.Run(t.Context(), cli.Env{Args: append(args, "--config", path, "--state", state),
			In: strings.NewReader(""), Out: io.Discard, Err: &b, Getenv: func(string) string { return "" }})
		return code, b.String()
	}
	if code, errs := run("session", "reset", "--yes"); code != 0 { // a record of the trail
		t.Fatal(code, errs)
	}
	for _, name := range []string{"audit.key", "checkpoints"} {
		if err := os.RemoveAll(filepath.Join(state, name)); err != nil {
			t.Fatal(err)
		}
	}
	if code, errs := run("serve", "--still"); code == 0 || !strings.Contains(errs, "This host has no audit key") ||
		!strings.Contains(errs, "opdeck audit checkpoint --new-key") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
