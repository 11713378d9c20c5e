package server_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"fmt"
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
	"opdeck/api/apitest"
	"opdeck/internal/e2e/lockedbuffer"
	"opdeck/internal/surface/cli"
)

// childKey names the folder of the server that this process is to be.
const childKey = "OPDECK_TEST_SERVE"

// verboseKey makes such a server log everything.
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
		os.Exit(cli.Run(ctx, cli.Env{Args: args, In: strings.NewReader(""), Out: os.Stdout, Err: os.Stderr, Version: "test",
			Getenv: os.Getenv}))
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
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
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
	out, errs              *lockedbuffer.Buffer
	stop                   func() int
	people                 map[string]gossh.Signer
	shared                 map[api.Role]*gossh.Client // for commands
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
var built = cli.Build{Release: "0.0.0", Commit: "0123456789abcdef0123456789abcdef01234567",
	Built: "2026-01-02T03:04:05Z"}

func arguments(dir string) []string {
	return []string{"serve", "--still", "--config", filepath.Join(dir, "config.toml"), "--state",
		filepath.Join(dir, "state"), "--log-file", filepath.Join(dir, "log")}
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
		done <- cli.Run(ctx, cli.Env{Args: arguments(p.dir), In: strings.NewReader(""), Out: p.out, Err: p.errs,
			Version: "test", Build: built,
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
	p := &place{t: t, dir: t.TempDir(), out: &lockedbuffer.Buffer{}, errs: &lockedbuffer.Buffer{},
		people: map[string]gossh.Signer{}, shared: map[api.Role]*gossh.Client{}}
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
max_sessions = %d
[webhooks]
listen = "127.0.0.1:0"
verify = "header"
header = "X-Secret"
secret_env = "HOOK_SECRET"
[serve]
metrics = ":0"
%s`, p.file("host"), p.file("keys"), 200+4*crowd, also))
	return p
}

// listens waits until the server listens and learns where.
func (p *place) listens() {
	t := p.t
	t.Helper()
	apitest.Soon(t, "the server listens", func() bool {
		return strings.Contains(p.out.String(), "ctrl+c ends") ||
			strings.Contains(p.errs.String(), "opdeck: ") // its last words; the log comes before
	})
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

func (p *place) file(name string) string { return filepath.Join(p.dir, name) }

func (p *place) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(p.file(name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) login(role api.Role) *gossh.Client {
	p.t.Helper()
	return p.loginAs("p-" + string(role))
}

func (p *place) loginAs(name string) *gossh.Client {
	p.t.Helper()
	c, err := gossh.Dial("tcp", p.ssh, &gossh.ClientConfig{User: name,
		Auth:            []gossh.AuthMethod{gossh.PublicKeys(p.people[name])},
		HostKeyCallback: gossh.InsecureIgnoreHostKey(), Timeout: 10 * time.Second})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = c.Close() })
	return c
}

// run runs one command as someone of a role.
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
