//go:build unix

package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/internal/e2e/lockedbuffer"
)

// proxy is `opdeck session proxy` as a process, with borrowers loop-0, loop-1 …
type proxy struct {
	t    testing.TB
	dir  string // of its config, state and log
	n    int    // of borrowers
	cmd  *exec.Cmd
	errs *lockedbuffer.Buffer
	url  string
}

func loopKey(i int) string { return fmt.Sprintf("key-of-loop-%d-0123456789-abcdef", i) }

// newProxy writes the config of a proxy and starts it.
func newProxy(t testing.TB, p place, s *service, borrowers int, perMinute map[limit.Class]int) *proxy {
	t.Helper()
	x := &proxy{t: t, dir: t.TempDir(), n: borrowers}
	text := fmt.Sprintf("default_context = \"t\"\n[store]\nurl = %q\nkey_file = %q\n[writes]\nsettle_wait = \"1s\"\n", p.url, p.keyFile)
	text += fmt.Sprintf("[contexts.t]\nbase_url = %q\nlogin = %q\npassword_file = %q\n[limits.per_minute]\n", s.url(), account, filepath.Join(x.dir, "password"))
	for class, n := range perMinute {
		text += fmt.Sprintf("%s = %d\n", class, n)
	}
	for i := range borrowers {
		text += fmt.Sprintf("[lend.borrowers.loop-%d]\nkey_env = \"LOOP_%d\"\nrole = \"operator\"\n", i, i)
	}
	err := errors.Join(os.WriteFile(filepath.Join(x.dir, "password"), []byte(password), 0o600), os.WriteFile(filepath.Join(x.dir, "c.toml"), []byte(text), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	x.start()
	return x
}

func (x *proxy) start() {
	x.t.Helper()
	x.errs = &lockedbuffer.Buffer{}
	x.cmd = exec.Command(os.Args[0], "--config", filepath.Join(x.dir, "c.toml"), "--state", filepath.Join(x.dir, "state"), "--verbose",
		"--log-file", filepath.Join(x.dir, "log"), "session", "proxy", "--addr", "127.0.0.1:0")
	x.cmd.Env = append(childEnv(), roleEnv+"=opdeck", "HOME="+x.dir)
	for i := range x.n {
		x.cmd.Env = append(x.cmd.Env, fmt.Sprintf("LOOP_%d=%s", i, loopKey(i)))
	}
	x.cmd.Stderr = x.errs
	if err := x.cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	cmd := x.cmd
	x.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	until(x.t, "the proxy listens: "+x.errs.String(), func() bool {
		_, rest, ok := strings.Cut(x.errs.String(), "http://")
		if addr, _, whole := strings.Cut(rest, ","); ok && whole {
			x.url = "http://" + addr
			return true
		}
		return false
	})
}

func (x *proxy) kill() {
	_ = x.cmd.Process.Kill()
	_ = x.cmd.Wait()
}

// lentAnswer is what a borrower got; status 0: the connection ended.
type lentAnswer struct {
	status int
	kind   api.Kind
	body   string
}

// call makes a borrower's call.
func (x *proxy) call(method, path string) lentAnswer {
	req, err := http.NewRequest(method, x.url+path, nil)
	if err != nil {
		x.t.Error(err)
		return lentAnswer{}
	}
	req.Header.Set("X-Opdeck-Key", loopKey(0))
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return lentAnswer{body: err.Error()}
	}
	defer func() { _ = resp.Body.Close() }()
	b, _ := io.ReadAll(resp.Body)
	var said struct{ Error struct{ Kind api.Kind } }
	_ = json.Unmarshal(b, &said)
	return lentAnswer{resp.StatusCode, said.Error.Kind, string(b)}
}

// removable is an operation with a document that can be taken off.
func (x *proxy) removable() (path string) {
	x.t.Helper()
	a := x.call("GET", "/v2/billing/operation?meta.pageSize=100")
	var page struct {
		Items []struct {
			OPID      string
			Status    string
			Documents []struct {
				GUID   string
				IsLock bool
			}
		}
	}
	if err := json.Unmarshal([]byte(a.body), &page); err != nil {
		x.t.Fatal(a, err)
	}
	for _, op := range page.Items {
		for _, d := range op.Documents {
			if op.Status == "PENDING" && !d.IsLock {
				return "/v2/billing/operation/" + op.OPID + "/document/" + d.GUID
			}
		}
	}
	x.t.Fatalf("nothing can be removed: %s", a.body)
	return ""
}

// S39: kill -9 of the proxy with a write on its way, the service gone, and (with
// PostgreSQL) the store's server gone: borrowers get errors with a kind, nothing is
// sent twice, and all continues by itself.
func TestS39LendingThroughKills(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		s := newService(t, serviceOptions{Access: 5 * time.Minute, Refresh: 15 * time.Minute, Operations: 60})
		hole := (*relay)(nil)
		if !p.sqlite() {
			hole, p = storeRelay(t, p)
		}
		x := newProxy(t, p, s, 1, roomy())
		path := x.removable()
		s.faults("late=remove:20s")
		gone := make(chan lentAnswer, 1)
		go func() { gone <- x.call("DELETE", path) }()
		until(t, "the removal is at the service", func() bool { return s.stats().Done["remove"] == 1 })
		x.kill()
		if a := <-gone; a.status != 0 {
			t.Errorf("a killed proxy answered %+v", a)
		}
		s.faults("")
		x.start()
		if a := x.call("GET", "/v2/customer?meta.pageSize=1"); a.status != 200 {
			t.Errorf("after the kill: %+v", a)
		}
		if a := x.call("DELETE", path); a.status != 409 || a.kind != api.Refused { // it was done: the guard reads first
			t.Errorf("the removal again: %+v", a)
		}
		if n := s.stats().Calls["remove"]; n != 1 {
			grave(t, "the removal was sent %d times", n)
		}
		s.cut()
		if a := x.call("GET", "/v2/customer?meta.pageSize=1"); a.status != 502 || a.kind != api.Unavailable {
			t.Errorf("without the service: %+v", a)
		}
		s.pass()
		if a := x.call("GET", "/v2/customer?meta.pageSize=1"); a.status != 200 {
			t.Errorf("the service is back: %+v", a)
		}
		if hole != nil {
			hole.cut()
			if a := x.call("GET", "/v2/customer?meta.pageSize=1"); a.status != 503 || a.kind != api.Unavailable {
				t.Errorf("without the store: %+v", a)
			}
			hole.pass()
			until(t, "the store is back", func() bool { return x.call("GET", "/v2/customer?meta.pageSize=1").status == 200 })
		}
		if st := s.stats(); st.Logins != 1 || st.Unauthorized != 0 {
			t.Errorf("%d logins, %d × 401", st.Logins, st.Unauthorized)
		}
	})
}

// S40: a command under exec has no token and no password in sight, gets the signals,
// gives its exit code, and its key ends with it.
func TestS40Exec(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "SQLite")
	s := newService(t, long())
	x := newProgram(t, p, s, password)
	dir := t.TempDir()
	script := `env > env; tr '\0' '\n' < /proc/$PPID/cmdline > parent; cat /proc/$$/cmdline > own
curl -s -i -H "X-Opdeck-Key: $OPDECK_PROXY_KEY" "$OPDECK_PROXY_URL/v2/customer?meta.pageSize=1" > answer
curl -s -i -H "X-Opdeck-Key: $OPDECK_PROXY_KEY" "$OPDECK_PROXY_URL/v2/billing/operation/none" > missing
curl -s -i -X POST "$OPDECK_PROXY_URL/v2/auth/login" -H "X-Opdeck-Key: $OPDECK_PROXY_KEY" > login
echo "$OPDECK_PROXY_URL $OPDECK_PROXY_KEY" > lent
trap 'echo term > signal; exit 9' TERM
echo ready > ready; while :; do sleep 0.1; done`
	cmd := exec.Command(os.Args[0], "--config", x.config, "--state", filepath.Join(x.home, "state"), "--verbose", "--log-file", x.log, "session", "exec", "--", "sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(childEnv(), roleEnv+"=opdeck", "HOME="+x.home, "OPDECK_PASSWORD=pw-MARKERpassword")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the command is ready", func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil })
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 9 {
		t.Errorf("exit %d, want the command's 9: %s", code, said.String())
	}
	for file, want := range map[string]string{"answer": "HTTP/1.1 200", "missing": "HTTP/1.1 404", "login": "HTTP/1.1 403", "signal": "term"} {
		if got := string(read(t, filepath.Join(dir, file))); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", file, got)
		}
	}
	if scan(t, dir) < 7 {
		t.Error("files are missing")
	}
	clean(t, "the log", read(t, x.log))
	clean(t, "the output", said.Bytes())
	url, key, _ := strings.Cut(strings.TrimSpace(string(read(t, filepath.Join(dir, "lent")))), " ")
	req, err := http.NewRequest("GET", url+"/v2/customer", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Opdeck-Key", key)
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_ = resp.Body.Close()
		t.Errorf("the key outlives its command: %d", resp.StatusCode)
	}
	for _, c := range []struct {
		args string
		code int
	}{{"true", 0}, {"false", 1}, {"/no/such/command", 2}, {"no-such-command", 2}, {x.config, 2}, {"sh -c kill$IFS-KILL$IFS$$", 137}} {
		args := append([]string{"session", "exec", "--"}, strings.Fields(c.args)...)
		if r := x.start(args...); r.wait(t) != c.code {
			t.Errorf("%s: exit %d, want %d: %s", c.args, r.cmd.ProcessState.ExitCode(), c.code, r.err.String())
		}
	}
}

// S42: the recipes of docs/lending.md run unchanged.
func TestS42Recipes(t *testing.T) {
	t.Parallel()
	text := string(read(t, "../../../docs/lending.md"))
	p := newPlace(t, "SQLite")
	x := newProgram(t, p, newService(t, long()), password)
	for lang, run := range map[string][]string{"sh": {"sh"}, "python": {"python3"}, "go": {"go"}} {
		_, rest, ok := strings.Cut(text, "\n```"+lang+"\n")
		recipe, _, whole := strings.Cut(rest, "\n```")
		if !ok || !whole {
			t.Fatalf("there is no recipe in %s", lang)
		}
		if _, err := exec.LookPath(run[0]); err != nil || lang == "python" && exec.Command("python3", "-c", "import requests").Run() != nil {
			t.Logf("the recipe in %s is not run: something is missing here", lang)
			continue
		}
		file := filepath.Join(t.TempDir(), "recipe."+lang)
		if err := os.WriteFile(file, []byte(recipe+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		run = append(run, file)
		if lang == "go" { // built here: the command's own home has no cache
			run = []string{strings.TrimSuffix(file, ".go")}
			if out, err := exec.Command("go", "build", "-o", run[0], file).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v", out, err)
			}
		}
		r := x.start(append([]string{"session", "exec", "--"}, run...)...)
		if r.wait(t) != 0 || r.out.Len() == 0 {
			t.Errorf("%s: %s%s", lang, r.out.String(), r.err.String())
		}
		t.Logf("%s: %.100s", lang, r.out.String())
	}
}
