//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"opdeck/internal/sandbox"
	"opdeck/internal/sandbox/faulty"
)

// world is a service on a port of its own, and a home with a config for it.
type world struct {
	t       *testing.T
	service *faulty.Service
	home    string
	env     []string
}

// newWorld starts a service. settings are put into the console's context; the
// commands of the test use another one of the same account, where all is allowed.
func newWorld(t *testing.T, opt sandbox.Options, settings string) *world {
	t.Helper()
	if opt.Operations == 0 {
		opt.Operations = 60
	}
	s, err := faulty.Open(context.Background(), faulty.Options{Options: opt, Odd: true})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		_ = s.Close()
	})
	w := &world{t: t, service: s, home: t.TempDir()}
	account := fmt.Sprintf("base_url = %q\nlogin = %q\npassword_env = \"PW\"\n", server.URL, sandbox.DefaultLogin)
	w.config("default_context = \"stage\"\n[contexts.stage]\n" + account + settings + "\n[contexts.all]\n" + account +
		"[limits]\nper_minute = { login = 1000, refresh = 1000, account = 1000, customer = 1000, billing = 1000, general = 1000 }\n")
	w.env = []string{"OPDECK_CONFIG=" + filepath.Join(w.home, "opdeck.toml")}
	return w
}

func (w *world) config(s string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.home, "opdeck.toml"), []byte(s), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// console opens the console and waits for its list.
func (w *world) console(width, height int, env ...string) *terminal {
	w.t.Helper()
	return start(w.t, width, height, w.home, append(w.env, env...)).matches(`\d+ operations`).shows("PENDING")
}

// command runs a command of the same home and gives its output.
func (w *world) command(args ...string) string {
	w.t.Helper()
	cmd := exec.Command(binary, append(args, "-c", "all")...)
	cmd.Dir = w.home
	cmd.Env = append([]string{"HOME=" + w.home, "PW=sandbox"}, w.env...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("%v: %v\n%s", args, err, errs.String())
	}
	return string(out)
}

// operation is what a test needs to know of one.
type operation struct {
	Opid, Status, CreatedAt string
	Customer                struct{ Cuid string }
	SourceAmount            struct {
		Sum struct {
			CurrencyCode, Units string
			Nanos               int64
		}
	}
	Documents []struct {
		GUID, FileName string
		IsLock         bool
	}
}

// operations are the newest ones; sandbox.DefaultOperations documents their order.
func (w *world) operations() []operation {
	w.t.Helper()
	var list struct{ Items []operation }
	if err := json.Unmarshal([]byte(w.command("operation", "list", "--live", "-o", "json")), &list); err != nil {
		w.t.Fatal(err)
	}
	if len(list.Items) < 22 {
		w.t.Fatalf("only %d operations", len(list.Items))
	}
	return list.Items
}

// names are the documents of an operation as the service has them.
func (w *world) names(opid string) string {
	w.t.Helper()
	var got struct{ Item operation }
	if err := json.Unmarshal([]byte(w.command("operation", "get", opid, "-o", "json")), &got); err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, d := range got.Item.Documents {
		out = append(out, d.FileName)
	}
	return strings.Join(out, " ")
}

// raw is an operation as the service sends it.
func (w *world) raw(opid string) string {
	w.t.Helper()
	return w.command("operation", "get", opid, "--reveal", "-o", "json")
}

// removals is how many documents were taken off their operations.
func (w *world) removals() int {
	w.t.Helper()
	list, err := w.service.Removals(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	n := 0
	for _, r := range list {
		if r.Outcome == "removed" {
			n++
		}
	}
	return n
}

// faults makes the service misbehave from now on.
func (w *world) faults(spec string) {
	w.t.Helper()
	f, err := faulty.ParseFaults(spec)
	if err != nil {
		w.t.Fatal(err)
	}
	w.service.SetFaults(f)
}

func (w *world) stats() faulty.Stats {
	w.t.Helper()
	st, err := w.service.Stats(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

// write puts a file into the home.
func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.home, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// file writes a file that can be uploaded.
func (w *world) file(name string) string {
	w.t.Helper()
	path := filepath.Join(w.home, name)
	if err := os.WriteFile(path, []byte("%PDF-1.4\nnew\n%%EOF\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// sizes that every journey is done at.
var sizes = [][2]int{{80, 24}, {120, 40}, {200, 60}}

func atSizes(t *testing.T, do func(t *testing.T, w, h int)) {
	for _, s := range sizes {
		t.Run(fmt.Sprintf("%dx%d", s[0], s[1]), func(t *testing.T) {
			t.Parallel()
			do(t, s[0], s[1])
		})
	}
}
