//go:build linux

package e2e

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"opdeck/internal/domain/verdict"
	"opdeck/internal/e2e/lockedbuffer"
)

// theCall is a command that needs the session.
var theCall = []string{"operation", "list", "--live", "--limit", "1"}

// usage is what processes have used up.
type usage struct{ processes, user, system atomic.Int64 }

var used usage

func (u *usage) add(p *os.ProcessState) {
	u.processes.Add(1)
	u.user.Add(int64(p.UserTime()))
	u.system.Add(int64(p.SystemTime()))
}

func (u *usage) String() string {
	return fmt.Sprintf("%d processes: %.1f s user, %.1f s system", u.processes.Load(),
		time.Duration(u.user.Load()).Seconds(), time.Duration(u.system.Load()).Seconds())
}

// upstream is a service that answers all calls properly until a test replaces its answers.
type upstream struct {
	*httptest.Server
	answer atomic.Pointer[http.HandlerFunc] // nil: properly
	tls    atomic.Pointer[tls.Config]       // of each connection
}

func (u *upstream) answers(h http.HandlerFunc) {
	if h == nil {
		u.answer.Store(nil)
		return
	}
	u.answer.Store(&h)
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := u.answer.Load(); h != nil {
		(*h)(w, r)
		return
	}
	good(w, r)
}

// nothing is a log of what clients do wrong.
var nothing = log.New(io.Discard, "", 0)

// isLogin reports whether a request asks for tokens.
func isLogin(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v2/auth/") }

func good(w http.ResponseWriter, r *http.Request) {
	if isLogin(r) {
		pair(w, 300)
		return
	}
	writeJSON(w, map[string]any{"meta": map[string]any{"page": 0, "pageSize": 1, "total": "0"}, "items": []any{}})
}

func pair(w http.ResponseWriter, life int) {
	writeJSON(w, map[string]any{"accessToken": uuid.NewString(), "refreshToken": uuid.NewString(), "accessTtl": life,
		"refreshTtl": 900})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// scene is a home with a config for one incident, its service, and the server that runs in it.
type scene struct {
	t        *testing.T
	home     string
	up       *upstream
	base     string // base_url
	password string // its line of the context
	context  string // more of it
	rest     string // other sections
	env      []string
	lent     string    // the address at which the server lends the session
	alone    bool      // the config has nothing for a server
	billing  int       // the recommended billing calls per minute
	held     *exec.Cmd // a process that was stopped; nil: none
	program  string    // what commands run
	as       *syscall.SysProcAttr
	where    string    // a regular expression of the store's place; "": the file in the state folder
	db       *database // nil: SQLite

	served  *exec.Cmd
	stops   func()              // ends the server
	log     lockedbuffer.Buffer // of the server
	metrics string              // its address; "": it did not start
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, home: t.TempDir(), up: &upstream{}, password: `password_env = "PW"`, billing: 1000, program: binary}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server logged\n%s", s.log.String())
		}
	})
	s.up.Server = httptest.NewServer(s.up)
	t.Cleanup(func() {
		s.up.CloseClientConnections()
		s.up.Close()
	})
	s.base = s.up.URL
	s.env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "PW=secret-password", "TZ=UTC",
		"OPDECK_CONFIG=" + s.file("opdeck.toml"), "OPDECK_STATE=" + s.file("state")}
	return s
}

func (s *scene) file(name string) string { return filepath.Join(s.home, name) }

func (s *scene) write(name, text string) string {
	s.t.Helper()
	if err := os.WriteFile(s.file(name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return s.file(name)
}

// configure writes the config.
func (s *scene) configure() {
	s.t.Helper()
	serve := "[serve]\nmetrics = \"127.0.0.1:0\"\n"
	if s.alone {
		serve = ""
	}
	s.write("opdeck.toml", fmt.Sprintf("[contexts.t]\nbase_url = %q\nlogin = \"m@example.com\"\nkind = \"test\"\n"+
		"timeout = \"2s\"\n%s\n%s\n[limits]\nper_minute = { login = 1000, refresh = 1000, account = 1000, customer = 1000, "+
		"billing = %d, general = 1000 }\n%s[index]\nmax_age = \"5s\"\n%s\n", s.base, s.password, s.context, s.billing, serve,
		s.rest))
	s.owned()
}

func (s *scene) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.program, args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = s.home, s.env, s.as
	return cmd
}

// start begins a command whose standard error can be read meanwhile.
func (s *scene) start(args ...string) *exec.Cmd {
	s.t.Helper()
	cmd := s.command(args...)
	cmd.Stdout, cmd.Stderr = new(lockedbuffer.Buffer), new(lockedbuffer.Buffer)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	return cmd
}

// ends ends a command unless it has ended.
func (s *scene) ends(cmd *exec.Cmd) ran {
	if cmd.ProcessState == nil {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
		used.add(cmd.ProcessState)
	}
	return outputOf(cmd)
}

func outputOf(cmd *exec.Cmd) ran {
	code := -1
	if cmd.ProcessState != nil {
		code = cmd.ProcessState.ExitCode()
	}
	return ran{code, fmt.Sprint(cmd.Stdout), fmt.Sprint(cmd.Stderr)}
}

// run runs a command to its end. A check whose time was over says nothing: it is made again, except in the long run,
// which is by itself.
func (s *scene) run(args ...string) ran {
	s.t.Helper()
	end := time.Now().Add(patience)
	for {
		got := s.reads("", args...)
		if long() || args[0] != "check" && args[len(args)-1] != "--check" || !overdue.MatchString(got.out) || time.Now().After(end) {
			return got
		}
	}
}

// overdue is what a check says of its own time, and of its turn to use the file of the store.
var overdue = regexp.MustCompile(`The check did not end within|has been locked by another process for too long|` +
	`Not known( now)?: [^.]*store`)

// reads is run with a standard input.
func (s *scene) reads(input string, args ...string) ran {
	s.t.Helper()
	cmd := s.command(args...)
	cmd.Stdout, cmd.Stderr, cmd.Stdin = new(strings.Builder), new(strings.Builder), strings.NewReader(input)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	_ = cmd.Wait()
	used.add(cmd.ProcessState)
	return outputOf(cmd)
}

// serves starts opdeck serve and waits until its ports are open, or until it has ended.
func (s *scene) serves() {
	s.t.Helper()
	s.configure()
	cmd := s.command("serve")
	cmd.Stderr = &s.log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.served = cmd
	s.stops = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		used.add(cmd.ProcessState)
		s.metrics = ""
	})
	s.t.Cleanup(s.stops)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if at, is := strings.CutPrefix(lines.Text(), "metrics "); is {
			s.metrics = strings.TrimSuffix(strings.TrimSpace(at), "/metrics")
		}
		if strings.HasPrefix(lines.Text(), "session ") {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
}

// get reads an answer of the server's metrics port.
func (s *scene) get(path string) (status int, body string) {
	s.t.Helper()
	resp, err := http.Get(s.metrics + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(text))
}

// until waits for something.
func (s *scene) until(limit time.Duration, what func() string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatal(what())
		}
	}
}

// found waits until the server names the cause first.
func (s *scene) found(cause verdict.Cause, after time.Duration) {
	s.t.Helper()
	if s.metrics == "" {
		return
	}
	last := ""
	s.until(atMost(3*soon)+after, func() string { return fmt.Sprintf("/healthz says %q, not %s", last, cause) }, func() bool {
		_, last = s.get("/healthz")
		return strings.HasSuffix(last, " "+string(cause))
	})
}

// over waits until the finding has ended, by the server and by the check.
func (s *scene) over(cause verdict.Cause, said string) {
	s.t.Helper()
	last, limit := "", 2*patience // after four failed logins the next one waits for a minute
	if consoles() {               // so many logins have failed meanwhile that the next one waits for minutes
		limit = 6 * time.Minute
	}
	if s.metrics != "" {
		s.until(limit, func() string { return fmt.Sprintf("it does not end: %q", last) }, func() bool {
			_, last = s.get("/healthz")
			return !strings.HasSuffix(last, " "+string(cause)) && !strings.HasPrefix(last, verdict.Critical.String())
		})
	}
	var got ran
	s.until(limit, func() string { return fmt.Sprintf("after the next step: exit %d, %q, %s", got.code, got.out, got.err) },
		func() bool {
			got = s.run("check", "--all")
			return !strings.Contains(got.out, said) && got.code != 2
		})
}
